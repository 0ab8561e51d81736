#include <algorithm>

#include "penstock/stages/decode/image_chain/image_chain_kernels.h"
#include "penstock/stages/decode/image_chain/image_chain_scratch.cuh"

// A block an image: it works out where the image's memory lies, which strips it has, and the taps
// of its axes.
namespace penstock {
namespace image_chain {

int64_t CountStrips(const ImageChainWork& work) {
  int64_t strips = 0;
  for (int32_t i = 0; i < work.count; ++i) {
    strips += Strips(work.host_pixels[work.host_rows[i]].region).count;
  }
  return strips;
}

namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr uint32_t kAllLanes = 0xFFFFFFFF;

struct Parameters {
  int32_t count;
  const int32_t* rows;
  const JpegDescriptor* descriptors;
  const FieldView* pixels;
  const FieldView* out;
  GeometryTables geometry;
  ResampleMethod method;
  std::byte* scratch;
  int64_t all_strips;
  uint32_t results[kChannels][kValues];
};

// What the images before one take.
struct Before {
  int64_t strips = 0, bytes = 0;
};

__device__ int64_t SumOfWarp(int64_t value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, lanes);
  }
  return value;
}

// By all threads of a block, which get the same.
__device__ Before SumBefore(const Parameters& p, int image) {
  __shared__ Before sums[kThreads / kWarp];
  Before sum;
  for (int i = threadIdx.x; i < image; i += kThreads) {
    const int32_t row = p.rows[i];
    const Region& pixels = p.pixels[row].region;
    sum.strips += Strips(pixels).count;
    sum.bytes += ImageSpace(pixels, p.out[row].region, ReachOf(p.method.filter)).bytes;
  }
  sum.strips = SumOfWarp(sum.strips);
  sum.bytes = SumOfWarp(sum.bytes);
  if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = sum;
  __syncthreads();
  Before total;
  for (const Before& s : sums) {
    total.strips += s.strips;
    total.bytes += s.bytes;
  }
  return total;
}

struct Axes {
  ImageAxis x, y;
};

// Columns count from the image's first one, rows from the first of what is needed.
__device__ Axes AxesOf(const ImageGeometry& g, const Region& pixels) {
  return {{g.box.x, g.box.width, g.size.width, g.x, g.mirrored},
          {g.box.y - pixels.y, g.box.height, g.size.height, g.y, false}};
}

__device__ ImageMemory MemoryAt(std::byte* base, const ImageSpace& space, const Axes& axes,
                                const Region& out) {
  return {
      .x = {out.width, axes.x.Visible(out.width), reinterpret_cast<Taps*>(base + space.x_taps),
            reinterpret_cast<int32_t*>(base + space.x_weights)},
      .y = {out.height, axes.y.Visible(out.height), reinterpret_cast<Taps*>(base + space.y_taps),
            reinterpret_cast<int32_t*>(base + space.y_weights)},
      .between = reinterpret_cast<uint8_t*>(base + space.between),
      .pitch = static_cast<int32_t>(PitchOf(out))};
}

__device__ void FillAxis(const ImageAxis& axis, const ResampleMethod& method, const AxisTaps& out,
                         int nearest_thread) {
  for (int32_t i = threadIdx.x; i < out.items; i += kThreads) axis.Fill(method, i, out);
  if (method.nearest && threadIdx.x == nearest_thread) axis.Nearest(out);
}

__global__ void __launch_bounds__(kThreads) PlanImages(const __grid_constant__ Parameters p) {
  const int image = static_cast<int>(blockIdx.x);
  const int32_t row = p.rows[image];
  const Region &pixels = p.pixels[row].region, &out = p.out[row].region;
  const CallSpace call(p.count, p.all_strips);
  const Before before = SumBefore(p, image);
  const ImageSize size = {p.descriptors[row].height, p.descriptors[row].width};
  const Axes axes = AxesOf(GeometryOf(p.geometry, row, size, {out.height, out.width}), pixels);
  const ImageMemory memory = MemoryAt(p.scratch + call.images + before.bytes,
                                      ImageSpace(pixels, out, ReachOf(p.method.filter)), axes, out);
  if (threadIdx.x == 0) {
    reinterpret_cast<ImageMemory*>(p.scratch + CallSpace::kMemories)[image] = memory;
  }
  const Strips strips(pixels);
  auto* list = reinterpret_cast<StripOf*>(p.scratch + call.strips) + before.strips;
  for (int32_t i = threadIdx.x; i < strips.count; i += kThreads) {
    list[i] = {image, strips.first + i};
  }
  FillAxis(axes.x, p.method, memory.x, 0);
  FillAxis(axes.y, p.method, memory.y, kWarp);
  if (image > 0) return;
  auto* results = reinterpret_cast<uint32_t*>(p.scratch + CallSpace::kResults);
  for (int i = threadIdx.x; i < kChannels * kValues; i += kThreads) {
    results[i] = p.results[i / kValues][i % kValues];
  }
}

}  // namespace
}  // namespace image_chain

size_t ImageChainCallBytes(int64_t images) {
  // Each part may end with less than a whole piece.
  return static_cast<size_t>(image_chain::CallSpace(images, 0).images + image_chain::kAlignment);
}

size_t ImageChainImageBytes(const Region& pixels, const Region& out, ResampleFilter filter) {
  const image_chain::ImageSpace space(pixels, out, image_chain::ReachOf(filter));
  return static_cast<size_t>(space.bytes) +
         image_chain::Strips(pixels).count * sizeof(image_chain::StripOf);
}

cudaError_t LaunchImagePlan(const ImageChainWork& work, cudaStream_t stream) {
  if (work.count == 0) return cudaSuccess;
  image_chain::Parameters parameters = {.count = work.count,
                                        .rows = work.rows,
                                        .descriptors = work.descriptors,
                                        .pixels = work.pixels,
                                        .out = work.out,
                                        .geometry = work.geometry,
                                        .method = work.method,
                                        .scratch = work.scratch,
                                        .all_strips = image_chain::CountStrips(work),
                                        .results = {}};
  if (work.item_bytes > 1) {
    for (int c = 0; c < image_chain::kChannels; ++c) {
      std::copy_n(work.host_results[c], image_chain::kValues, parameters.results[c]);
    }
  }
  void* arguments[] = {&parameters};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&image_chain::PlanImages),
                          dim3(static_cast<unsigned>(work.count)), dim3(image_chain::kThreads),
                          arguments, 0, stream);
}

}  // namespace penstock
