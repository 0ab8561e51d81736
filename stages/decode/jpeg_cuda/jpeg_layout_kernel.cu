// First of all: where in the batch the work and memory of each image begin. One block; a thread an
// image, as many images at a time as there are threads.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarp;

// The sum of the values of the threads below, and in `total` of all.
__device__ uint64_t BlockExclusiveSum(uint64_t value, uint64_t& total) {
  __shared__ uint64_t warps[kWarps];
  uint64_t sum = value;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint64_t below = __shfl_up_sync(kAllLanes, sum, distance);
    if (Lane() >= distance) sum += below;
  }
  __syncthreads();
  if (Lane() == kWarp - 1) warps[Warp()] = sum;
  __syncthreads();
  uint64_t before = 0;
  total = 0;
  for (int i = 0; i < kWarps; ++i) {
    if (i < Warp()) before += warps[i];
    total += warps[i];
  }
  return before + sum - value;
}

// The first image, in the order of arrival here, whose tables have the same hash.
__device__ uint32_t FindEqual(const JpegBatch& batch, uint32_t i, uint64_t hash) {
  for (uint32_t slot = static_cast<uint32_t>(hash) & batch.equal_mask;;
       slot = (slot + 1) & batch.equal_mask) {
    const uint32_t taken = atomicCAS(&batch.equal_slots[slot], 0U, i + 1);
    if (taken == 0) return i;
    if (batch.descriptors[batch.rows[taken - 1]].tables_hash == hash) return taken - 1;
  }
}

__device__ JpegImage Describe(const JpegBatch& batch, int32_t row) {
  const JpegDescriptor& d = batch.descriptors[row];
  JpegImage image;
  image.geometry = GeometryOf(d, batch.pixels[row].region);
  image.file = batch.files[row].address;
  image.scan = image.file + d.scan;
  image.scan_bytes = d.scan_bytes;
  image.pair_mask = d.pair_mask;
  image.period = d.period;
  image.mcu_blocks = d.mcu_blocks;
  image.components = d.components;
  image.h = d.h;
  image.v = d.v;
  const JpegGeometry& g = image.geometry;
  const uint32_t mcus = (g.end_column - g.first_column) * (g.end_row - g.first_row);
  const uint32_t luma_blocks = d.mcu_blocks - (d.components - 1);
  // A block has 64 samples, 8 units.
  image.plane_offset[1] = mcus * luma_blocks * 8;
  image.plane_offset[2] = mcus * (luma_blocks + 1) * 8;
  return image;
}

__device__ JpegPlanes PlanesOf(const JpegImage& image, const JpegDescriptor& d) {
  const JpegGeometry& g = image.geometry;
  JpegPlanes planes;
  for (int c = 0; c < d.components; ++c) {
    const int h = c == 0 ? d.h : 1, v = c == 0 ? d.v : 1;
    planes.stride[c] = c == 0 ? g.luma_stride : g.chroma_stride;
    planes.plane[c] = image.planes + uint64_t{image.plane_offset[c]} * 8 -
                      (uint64_t{static_cast<uint32_t>(g.first_row)} * 8 * v * planes.stride[c] +
                       uint64_t{static_cast<uint32_t>(g.first_column)} * 8 * h);
  }
  planes.width = d.width;
  planes.height = d.height;
  planes.chroma_width = (d.width + d.h - 1) / d.h;
  planes.chroma_height = (d.height + d.v - 1) / d.v;
  planes.components = d.components;
  planes.h = d.h;
  planes.v = d.v;
  planes.is_ycc = d.is_ycc;
  return planes;
}

__global__ void __launch_bounds__(kThreads) LayoutKernel(JpegBatch batch) {
  JpegTotals before;
  for (int32_t tile = 0; tile < batch.count; tile += kThreads) {
    const int32_t i = tile + static_cast<int32_t>(threadIdx.x);
    JpegImage image;
    if (i < batch.count) image = Describe(batch, batch.rows[i]);
    const JpegGeometry& g = image.geometry;
    const auto place = [](uint64_t& sum, uint64_t value) {
      uint64_t total;
      const uint64_t mine = sum + BlockExclusiveSum(value, total);
      sum += total;
      return mine;
    };
    image.first_chunk = static_cast<uint32_t>(place(before.chunks, g.chunks));
    image.first_subsequence = static_cast<uint32_t>(place(before.subsequences, g.subsequences));
    image.first_sync_block = static_cast<uint32_t>(place(before.sync_blocks, g.sync_blocks));
    image.first_group = static_cast<uint32_t>(place(before.groups, g.groups));
    image.planes = reinterpret_cast<uint64_t>(batch.plane_memory) + kPlaneGuard +
                   place(before.plane_bytes, g.plane_bytes);
    if (i >= batch.count) continue;
    const JpegDescriptor& d = batch.descriptors[batch.rows[i]];
    image.equal_image = FindEqual(batch, i, d.tables_hash);
    batch.first_chunk[i] = image.first_chunk;
    batch.first_sync_block[i] = image.first_sync_block;
    batch.first_group[i] = image.first_group;
    batch.planes[i] = PlanesOf(image, d);
    batch.images[i] = image;
  }
  if (threadIdx.x == 0) {
    batch.first_chunk[batch.count] = static_cast<uint32_t>(before.chunks);
    batch.first_sync_block[batch.count] = static_cast<uint32_t>(before.sync_blocks);
    batch.first_group[batch.count] = static_cast<uint32_t>(before.groups);
  }
}

}  // namespace

cudaError_t LaunchJpegLayout(const JpegBatch& batch, cudaStream_t stream) {
  LayoutKernel<<<1, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
