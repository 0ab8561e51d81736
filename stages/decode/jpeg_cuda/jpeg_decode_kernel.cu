// From synchronised subsequences to samples. Blocks take a few groups of MCUs each, in order:
// decode a group's coefficients into shared memory, add up the differences of DC values, first in
// the group, then over the groups before by looking back, and write the inverse DCT's samples to
// the planes. A block that looks back waits only for groups that others have taken before.
#include "penstock/stages/decode/jpeg_cuda/jpeg_coefficients.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_dc.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_transform.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kBlocksPerProcessor = 5;
// The most groups that a block takes: so many that its start does not count, and so few that it
// soon gives way to kernels of a higher priority.
constexpr int kGroupsABlock = 4;
// But as long as a processor has fewer blocks than this, each group gets one of its own.
constexpr int kGridPerProcessor = 4;

__device__ void LoadTables(const JpegTables& tables, DecodeShared& shared) {
  const auto* from = reinterpret_cast<const uint4*>(tables.decode_long);
  for (uint32_t i = threadIdx.x; i < kDecodeTableWords / 4; i += kDecodeThreads) {
    reinterpret_cast<uint4*>(shared.long_codes)[i] = from[i];
  }
}

__device__ void ClearBlocks(int count, DecodeShared& shared) {
  constexpr int kWords = kBlockItems * sizeof(int16_t) / sizeof(uint4);
  for (int i = threadIdx.x; i < count * kWords; i += kDecodeThreads) {
    reinterpret_cast<uint4*>(shared.blocks)[i] = make_uint4(0, 0, 0, 0);
  }
}

__device__ void ClearDc(int count, DecodeShared& shared) {
  for (int i = threadIdx.x; i < count; i += kDecodeThreads) shared.blocks[i * kBlockItems] = 0;
}

template <bool kDcOnly>
__device__ void RunGroup(const JpegBatch& batch, const Group& group, uint32_t set,
                         DecodeShared& shared) {
  if constexpr (kDcOnly) {
    ClearDc(group.blocks, shared);
  } else {
    ClearBlocks(group.blocks, shared);
    FillPlaces(group, shared);
  }
  __syncthreads();
  DecodeGroup<kDcOnly>(batch, group, batch.canonical + 4 * size_t{set}, shared);
  __syncthreads();
  const int restart = FirstRestart(group);
  const Sums sums = SumGroup(group, restart, shared);
  if (Warp() == 0) LookBack(batch, group, sums, shared);
  if constexpr (kDcOnly) return;
  __syncthreads();
  Transform(batch, group, restart, shared);
}

__global__ void __launch_bounds__(kDecodeThreads, kBlocksPerProcessor)
    DecodeKernel(JpegBatch batch) {
  __shared__ DecodeShared shared;
  const uint32_t groups = batch.first_group[batch.count];
  uint32_t loaded = ~0U;
  if (threadIdx.x < sizeof(shared.positions)) {
    shared.positions[threadIdx.x] = kZigzagToColumns[min(threadIdx.x, 63U)];
  }
  for (int taken = 0; taken < kGroupsABlock; ++taken) {
    __syncthreads();
    if (threadIdx.x == 0) shared.item = atomicAdd(batch.ticket, 1U);
    __syncthreads();
    const uint32_t item = shared.item;
    if (item >= groups) return;
    const Group group = FindGroup(batch, item);
    const uint32_t set = batch.tables_of[group.image_index];
    if (set != loaded) LoadTables(batch.tables[set], shared);
    loaded = set;
    if (IsWanted(group)) {
      RunGroup<false>(batch, group, set, shared);
    } else {
      RunGroup<true>(batch, group, set, shared);
    }
  }
}

}  // namespace

cudaError_t LaunchJpegDecode(const JpegBatch& batch, uint64_t groups, cudaStream_t stream) {
  if (groups == 0) return cudaSuccess;
  int device = 0, processors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error != cudaSuccess) return error;
  const uint64_t at_once = static_cast<uint64_t>(processors) * kGridPerProcessor;
  const uint64_t blocks = max(min(groups, at_once), (groups + kGroupsABlock - 1) / kGroupsABlock);
  DecodeKernel<<<static_cast<unsigned>(blocks), kDecodeThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
