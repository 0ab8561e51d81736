#include <algorithm>

#include "penstock/stages/transform/normalize_kernel.h"

// A block takes tiles of a row in turn: it brings one into shared memory, in the order of the
// bytes, looks each byte up there, and writes results in the order of the output. Both directions
// are whole, neighbouring 16-byte words wherever the addresses allow it.
namespace penstock {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 8;
constexpr int kWord = 16;
// A multiple of 16 pixels: each tile is then aligned as its row is.
constexpr int kTilePixels = 2048;

// Passed by value: a launch takes its own copy along, and no memory has to outlive it.
template <class Item, int kChannels>
struct Results {
  Item of[kChannels][256];
};

struct Rows {
  const int32_t* list;
  int32_t count;
  const FieldView* in;
  const FieldView* out;
  int64_t pixels;
};

template <class Item>
union Word {
  uint4 word;
  Item items[kWord / sizeof(Item)];
};

__device__ bool IsAligned(const void* address) {
  return reinterpret_cast<uint64_t>(address) % kWord == 0;
}

// Item `i` of words that hold bytes.
__device__ uint32_t Byte(const uint32_t* words, int i) { return words[i / 4] >> (i % 4 * 8) & 255; }

__device__ void LoadTile(const uint8_t* from, int bytes, uint8_t* tile) {
  int done = 0;
  if (IsAligned(from)) {
    const int words = bytes / kWord;
    for (int i = threadIdx.x; i < words; i += kThreads) {
      reinterpret_cast<uint4*>(tile)[i] = reinterpret_cast<const uint4*>(from)[i];
    }
    done = words * kWord;
  }
  for (int i = done + threadIdx.x; i < bytes; i += kThreads) tile[i] = from[i];
}

// Pixel `first` and the next ones of a row, `count` of them, into one plane a channel.
template <class Item, int kChannels>
__device__ void StorePlanes(const Results<Item, kChannels>& results, const uint8_t* tile, int count,
                            int64_t first, int64_t pixels, Item* row) {
  constexpr int kItems = kWord / sizeof(Item);
  constexpr int kWords = kItems * kChannels / 4;
  const bool aligned = IsAligned(row) && (kChannels == 1 || IsAligned(row + pixels));
  const int words = aligned ? count / kItems : 0;
  for (int i = threadIdx.x; i < words; i += kThreads) {
    uint32_t bytes[kWords];
    for (int w = 0; w < kWords; ++w) {
      bytes[w] = reinterpret_cast<const uint32_t*>(tile)[i * kWords + w];
    }
    for (int c = 0; c < kChannels; ++c) {
      Word<Item> out;
      for (int k = 0; k < kItems; ++k) out.items[k] = results.of[c][Byte(bytes, k * kChannels + c)];
      reinterpret_cast<uint4*>(row + c * pixels + first)[i] = out.word;
    }
  }
  for (int i = words * kItems + threadIdx.x; i < count; i += kThreads) {
    for (int c = 0; c < kChannels; ++c) {
      row[c * pixels + first + i] = results.of[c][tile[i * kChannels + c]];
    }
  }
}

// The same, interleaved as they come.
template <class Item, int kChannels>
__device__ void StorePixels(const Results<Item, kChannels>& results, const uint8_t* tile, int count,
                            int64_t first, Item* row) {
  constexpr int kItems = kWord / sizeof(Item);
  constexpr int kWords = kItems / 4;
  Item* to = row + first * kChannels;
  const int words = IsAligned(row) ? count * kChannels / kItems : 0;
  for (int i = threadIdx.x; i < words; i += kThreads) {
    uint32_t bytes[kWords];
    for (int w = 0; w < kWords; ++w) {
      bytes[w] = reinterpret_cast<const uint32_t*>(tile)[i * kWords + w];
    }
    Word<Item> out;
    for (int k = 0; k < kItems; ++k) {
      out.items[k] = results.of[(i * kItems + k) % kChannels][Byte(bytes, k)];
    }
    reinterpret_cast<uint4*>(to)[i] = out.word;
  }
  for (int i = words * kItems + threadIdx.x; i < count * kChannels; i += kThreads) {
    to[i] = results.of[i % kChannels][tile[i]];
  }
}

template <class Item, int kChannels, bool kPlanar>
__global__ void __launch_bounds__(kThreads)
    NormalizeRows(const __grid_constant__ Rows rows,
                  const __grid_constant__ Results<Item, kChannels> results) {
  // Lookups differ from thread to thread: parameters would serve them one by one.
  __shared__ Results<Item, kChannels> shared;
  alignas(kWord) __shared__ uint8_t tile[kTilePixels * kChannels];
  for (int i = threadIdx.x; i < 256 * kChannels; i += kThreads) {
    shared.of[i / 256][i % 256] = results.of[i / 256][i % 256];
  }
  const int64_t tiles_per_row = (rows.pixels + kTilePixels - 1) / kTilePixels;
  for (int64_t i = blockIdx.x; i < tiles_per_row * rows.count; i += gridDim.x) {
    const int32_t row = rows.list[i / tiles_per_row];
    const int64_t first = i % tiles_per_row * kTilePixels;
    const int count = static_cast<int>(min(int64_t{kTilePixels}, rows.pixels - first));
    const auto* from = reinterpret_cast<const uint8_t*>(rows.in[row].address);
    auto* to = reinterpret_cast<Item*>(rows.out[row].address);
    __syncthreads();  // All are done with the tile before.
    LoadTile(from + first * kChannels, count * kChannels, tile);
    __syncthreads();
    if constexpr (kPlanar) {
      StorePlanes<Item, kChannels>(shared, tile, count, first, rows.pixels, to);
    } else {
      StorePixels<Item, kChannels>(shared, tile, count, first, to);
    }
  }
}

cudaError_t Processors(int& processors) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
}

template <class Item, int kChannels, bool kPlanar>
cudaError_t Launch(const NormalizeWork& work, cudaStream_t stream) {
  int processors = 0;
  if (const cudaError_t error = Processors(processors); error != cudaSuccess) return error;
  Rows rows = {work.rows, work.count, work.in, work.out, work.pixels};
  Results<Item, kChannels> results;
  for (int c = 0; c < kChannels; ++c) {
    for (int v = 0; v < 256; ++v) results.of[c][v] = static_cast<Item>(work.bits[c][v]);
  }
  const int64_t tiles = (work.pixels + kTilePixels - 1) / kTilePixels * work.count;
  const int64_t blocks = std::min<int64_t>(tiles, int64_t{kBlocksPerProcessor} * processors);
  // Not <<<>>>, whose error can only be had together with one of the caller's own.
  void* arguments[] = {&rows, &results};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&NormalizeRows<Item, kChannels, kPlanar>),
                          dim3(static_cast<unsigned>(blocks)), dim3(kThreads), arguments, 0,
                          stream);
}

template <class Item, int kChannels>
cudaError_t LaunchLayout(const NormalizeWork& work, cudaStream_t stream) {
  return work.planar ? Launch<Item, kChannels, true>(work, stream)
                     : Launch<Item, kChannels, false>(work, stream);
}

template <class Item>
cudaError_t LaunchChannels(const NormalizeWork& work, cudaStream_t stream) {
  switch (work.channels) {
    case 1:
      return LaunchLayout<Item, 1>(work, stream);
    case 2:
      return LaunchLayout<Item, 2>(work, stream);
    case 3:
      return LaunchLayout<Item, 3>(work, stream);
    case 4:
      return LaunchLayout<Item, 4>(work, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t LaunchNormalize(const NormalizeWork& work, cudaStream_t stream) {
  if (work.count == 0 || work.pixels == 0) return cudaSuccess;
  return work.item_bytes == 2 ? LaunchChannels<uint16_t>(work, stream)
                              : LaunchChannels<uint32_t>(work, stream);
}

}  // namespace penstock
