#include <algorithm>

#include "penstock/stages/cache/gather_rows_kernel.h"

// A block takes pieces of rows in turn. Rows may lie behind the link, where a load takes
// microseconds: each thread has several on the way.
namespace penstock {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 512;  // A few for each processor of any device.
constexpr int kWord = 16;
constexpr int kLoads = 4;  // Of a thread at a time.
constexpr int64_t kPieceBytes = kThreads * kWord * kLoads;

__device__ bool IsAligned(uint64_t value) { return value % kWord == 0; }

__device__ void CopyWords(const uint4* from, int words, uint4* to) {
  uint4 loaded[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < words) loaded[k] = __ldg(from + i);
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (i < words) to[i] = loaded[k];
  }
}

__device__ void CopyBytes(const std::byte* from, size_t bytes, std::byte* to) {
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
}

__device__ void CopyRange(const std::byte* from, int64_t bytes, std::byte* to) {
  if (!IsAligned(reinterpret_cast<uint64_t>(from) | reinterpret_cast<uint64_t>(to))) {
    return CopyBytes(from, bytes, to);
  }
  for (int64_t first = 0; first < bytes; first += kPieceBytes) {
    const auto words = static_cast<int>(min(bytes - first, kPieceBytes) / kWord);
    CopyWords(reinterpret_cast<const uint4*>(from + first), words,
              reinterpret_cast<uint4*>(to + first));
  }
  const int64_t whole = bytes / kWord * kWord;
  CopyBytes(from + whole, bytes - whole, to + whole);
}

__global__ void __launch_bounds__(kThreads)
    GatherRows(const __grid_constant__ GatherLaunch<GatherRowEntry> launch, int64_t row_bytes) {
  const int64_t pieces = (row_bytes + kPieceBytes - 1) / kPieceBytes;
  for (int64_t i = blockIdx.x; i < pieces * launch.rows; i += gridDim.x) {
    const auto number = static_cast<int32_t>(i / pieces);
    int b = launch.batches - 1;
    while (launch.batch[b].first > number) --b;
    const auto& batch = launch.batch[b];
    const int64_t row = number - batch.first, first = i % pieces * kPieceBytes;
    const int64_t bytes = min(kPieceBytes, row_bytes - first);
    const auto* from = reinterpret_cast<const std::byte*>(batch.entries[row].address) + first;
    CopyRange(from, bytes, batch.out + row * row_bytes + first);
  }
  for (int i = blockIdx.x; i < launch.carries; i += gridDim.x) {
    CopyRange(launch.carry[i].from, launch.carry[i].bytes, launch.carry[i].to);
  }
}

}  // namespace

cudaError_t LaunchGatherRows(const GatherLaunch<GatherRowEntry>& launch, int64_t row_bytes,
                             cudaStream_t stream) {
  if (launch.rows == 0 || row_bytes == 0) return cudaSuccess;
  const int64_t pieces = (row_bytes + kPieceBytes - 1) / kPieceBytes * launch.rows;
  const auto blocks = static_cast<unsigned>(std::min(pieces, kMaxBlocks));
  GatherRows<<<blocks, kThreads, 0, stream>>>(launch, row_bytes);
  return cudaGetLastError();
}

}  // namespace penstock
