#include <algorithm>

#include "penstock/stages/decode/image_chain/image_chain_kernels.h"
#include "penstock/stages/decode/image_chain/image_chain_scratch.cuh"

// The second pass: a thread makes four neighbouring pixels of a row, three channels each, and looks
// up what Normalize makes of their values.
namespace penstock {
namespace image_chain {
namespace {

constexpr int kThreads = 256;
constexpr int kTogether = 4;  // Pixels of a thread.
constexpr int kUnitsAThread = 4;

struct Parameters {
  const int32_t* rows;
  const JpegPlanes* planes;
  const FieldView* out;
  std::byte* scratch;
  int32_t blocks_an_image;
};

// What Normalize makes of each value; of 1 byte: the value.
template <class Item>
struct Results {
  Item of[kChannels][kValues];
  __device__ void Load(const std::byte* scratch) {
    const auto* from = reinterpret_cast<const uint32_t*>(scratch + CallSpace::kResults);
    for (int i = threadIdx.x; i < kChannels * kValues; i += kThreads) {
      of[i / kValues][i % kValues] = static_cast<Item>(from[i]);
    }
    __syncthreads();
  }
  __device__ Item At(int channel, uint32_t value) const { return of[channel][value]; }
};
template <>
struct Results<uint8_t> {
  __device__ void Load(const std::byte*) {}
  __device__ uint8_t At(int, uint32_t value) const { return static_cast<uint8_t>(value); }
};

template <class Item>
struct alignas(kTogether * sizeof(Item)) Four {
  Item item[kTogether];
};

// By channel.
template <class Item>
struct FourPixels {
  Four<Item> channel[kChannels];
};

struct Sums {
  int32_t of[kChannels][kTogether];
};

__device__ Sums AddTaps(const ImageMemory& memory, int row, int column) {
  Sums sums;
  for (int c = 0; c < kChannels; ++c) {
    for (int k = 0; k < kTogether; ++k) sums.of[c][k] = kHalfValue;
  }
  const AxisTaps& axis = memory.y;
  const Taps taps = axis.taps[row];
  const int64_t pitch = memory.pitch;
  const uint8_t* from = memory.between + taps.begin * kChannels * pitch + column;
  for (int t = 0; t < taps.count; ++t, from += kChannels * pitch) {
    const int32_t weight = axis.weights[taps.at + int64_t{t} * axis.stride];
    for (int c = 0; c < kChannels; ++c) {
      const uint32_t four = *reinterpret_cast<const uint32_t*>(from + c * pitch);
      for (int k = 0; k < kTogether; ++k) {
        sums.of[c][k] += weight * static_cast<int32_t>(four >> (8 * k) & 255);
      }
    }
  }
  return sums;
}

// `pixels` of them, four where `whole` says that the output is aligned for that.
template <class Item>
__device__ void StorePlanes(const FourPixels<Item>& values, Item* to, int64_t plane, int pixels,
                            bool whole) {
  for (int c = 0; c < kChannels; ++c) {
    if (whole) {
      *reinterpret_cast<Four<Item>*>(to + c * plane) = values.channel[c];
      continue;
    }
    for (int k = 0; k < kTogether; ++k) {
      if (k < pixels) to[c * plane + k] = values.channel[c].item[k];
    }
  }
}

template <class Item>
__device__ void StorePixels(const FourPixels<Item>& values, Item* to, int pixels, bool whole) {
  if (whole) {
    for (int i = 0; i < kChannels; ++i) {
      Four<Item> four;
      for (int k = 0; k < kTogether; ++k) {
        const int at = i * kTogether + k;
        four.item[k] = values.channel[at % kChannels].item[at / kChannels];
      }
      reinterpret_cast<Four<Item>*>(to)[i] = four;
    }
    return;
  }
  for (int k = 0; k < kTogether; ++k) {
    for (int c = 0; c < kChannels; ++c) {
      if (k < pixels) to[k * kChannels + c] = values.channel[c].item[k];
    }
  }
}

template <class Item, bool kPlanar>
__global__ void __launch_bounds__(kThreads) FilterColumns(const __grid_constant__ Parameters p) {
  __shared__ Results<Item> results;
  results.Load(p.scratch);
  const int image = static_cast<int>(blockIdx.x) / p.blocks_an_image;
  const int block = static_cast<int>(blockIdx.x) % p.blocks_an_image;
  if (p.planes[image].damaged != 0) return;
  const ImageMemory memory =
      reinterpret_cast<const ImageMemory*>(p.scratch + CallSpace::kMemories)[image];
  const int width = memory.x.items, height = memory.y.items;
  const int across = (width + kTogether - 1) / kTogether;
  const uint64_t address = p.out[p.rows[image]].address;
  auto* const out = reinterpret_cast<Item*>(address);
  const bool aligned = width % kTogether == 0 && address % sizeof(Four<Item>) == 0;
  for (int64_t i = int64_t{block} * kThreads + threadIdx.x; i < int64_t{across} * height;
       i += int64_t{p.blocks_an_image} * kThreads) {
    const int row = static_cast<int>(i / across);
    const int column = static_cast<int>(i - int64_t{row} * across) * kTogether;
    const Sums sums = AddTaps(memory, row, column);
    FourPixels<Item> values;
    for (int c = 0; c < kChannels; ++c) {
      for (int k = 0; k < kTogether; ++k) {
        values.channel[c].item[k] = results.At(c, ValueOfSum(sums.of[c][k]));
      }
    }
    const int64_t pixel = int64_t{row} * width + column;
    if constexpr (kPlanar) {
      StorePlanes(values, out + pixel, int64_t{height} * width, width - column, aligned);
    } else {
      StorePixels(values, out + pixel * kChannels, width - column, aligned);
    }
  }
}

// As many as the largest result keeps busy.
int32_t BlocksAnImage(const ImageChainWork& work) {
  constexpr int64_t kPixelsABlock = int64_t{kTogether} * kUnitsAThread * kThreads;
  constexpr int64_t kMost = 1 << 10;
  int64_t most = 0;
  for (int32_t i = 0; i < work.count; ++i) {
    most = std::max(most, work.host_out[work.host_rows[i]].region.area());
  }
  return static_cast<int32_t>(std::min((most + kPixelsABlock - 1) / kPixelsABlock, kMost));
}

template <class Item, bool kPlanar>
cudaError_t Launch(const ImageChainWork& work, cudaStream_t stream) {
  Parameters parameters = {.rows = work.rows,
                           .planes = work.planes,
                           .out = work.out,
                           .scratch = work.scratch,
                           .blocks_an_image = BlocksAnImage(work)};
  const int64_t blocks = int64_t{work.count} * parameters.blocks_an_image;
  if (blocks == 0) return cudaSuccess;
  void* arguments[] = {&parameters};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&FilterColumns<Item, kPlanar>),
                          dim3(static_cast<unsigned>(blocks)), dim3(kThreads), arguments, 0,
                          stream);
}

}  // namespace
}  // namespace image_chain

cudaError_t LaunchImageColumns(const ImageChainWork& work, cudaStream_t stream) {
  using image_chain::Launch;
  if (work.item_bytes == 1) return Launch<uint8_t, false>(work, stream);
  if (work.item_bytes == 2) {
    return work.planar ? Launch<uint16_t, true>(work, stream)
                       : Launch<uint16_t, false>(work, stream);
  }
  return work.planar ? Launch<uint32_t, true>(work, stream) : Launch<uint32_t, false>(work, stream);
}

}  // namespace penstock
