#include <algorithm>

#include "penstock/stages/transform/gather_images_kernel.h"

// A block takes bands of images in turn: it brings the rows that a band needs into shared memory, in
// whole 16-byte words, and writes the band's results in the order of the output. Images may lie
// behind the link, where a load takes microseconds: many blocks hide it.
namespace penstock {
namespace {

constexpr int kThreads = 192;
constexpr int kBlocksPerProcessor = 8;
constexpr int kWord = 16;
constexpr int kBandBytes = 6144;  // Of the input, about.

// Passed by value: a launch takes its own copy along, and no memory has to outlive it.
template <class Item, int kSide>
struct Parameters {
  const GatherImageEntry* entries;
  Item* out;
  int32_t count, in_width, channels, height, width, band, bands, carries;
  GatherImagesWork::Range carry[GatherImagesWork::kMaxCarries];
  int16_t source_y[kSide], source_x[kSide];
  Item results[GatherImagesWork::kMaxChannels][256];
  Item fill[GatherImagesWork::kMaxChannels];
};

template <class Item>
union Word {
  uint4 word;
  Item items[kWord / sizeof(Item)];
};

// One band of an image as it lies in shared memory.
struct Band {
  const uint8_t* tile;  // Row `first` of the image, and the next ones.
  int first, pitch;
};

// Loads rows [first, last] of the image into `tile`, which starts a word; gives where they begin.
__device__ const uint8_t* LoadRows(uint64_t image, int first, int last, int pitch, uint4* tile) {
  const uint64_t begin = image + static_cast<uint64_t>(first) * pitch;
  const uint64_t end = image + static_cast<uint64_t>(last + 1) * pitch;
  const auto* words = reinterpret_cast<const uint4*>(begin / kWord * kWord);
  const int count = static_cast<int>((end + kWord - 1) / kWord - begin / kWord);
  for (int i = threadIdx.x; i < count; i += kThreads) tile[i] = __ldg(words + i);
  return reinterpret_cast<const uint8_t*>(tile) + begin % kWord;
}

// The results of one image, looked up in shared memory: parameters would serve threads one by one.
template <class Item, int kSide>
struct Image {
  const Parameters<Item, kSide>& p;
  const Item (*results)[256];
  const int16_t *source_y, *source_x;
  Band band;
  int y, x;  // Of the crop's corner.
  bool flip;

  __device__ Item At(int row, int column, int channel) const {
    const int sy = source_y[y + row], sx = source_x[x + (flip ? p.width - 1 - column : column)];
    if (sy < 0 || sx < 0) return p.fill[channel];
    return results[channel][band.tile[(sy - band.first) * band.pitch + sx * p.channels + channel]];
  }
};

// Rows [top, bottom) of the image, planar or interleaved; `kItems` at a time.
template <class Item, int kSide, bool kPlanar, int kItems>
__device__ void StoreRows(const Image<Item, kSide>& image, int top, int bottom, Item* out) {
  const Parameters<Item, kSide>& p = image.p;
  const int rows = bottom - top;
  const int a_row = (kPlanar ? p.width : p.width * p.channels) / kItems;
  const int total = a_row * rows * (kPlanar ? p.channels : 1);
  for (int i = threadIdx.x; i < total; i += kThreads) {
    const int channel = kPlanar ? i / (a_row * rows) : 0;
    const int row = top + i / a_row % rows, first = i % a_row * kItems;
    Word<Item> word;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      word.items[k] = kPlanar ? image.At(row, first + k, channel)
                              : image.At(row, (first + k) / p.channels, (first + k) % p.channels);
    }
    Item* to = kPlanar ? out + (int64_t{channel} * p.height + row) * p.width + first
                       : out + int64_t{row} * p.width * p.channels + first;
    if constexpr (kItems > 1) {
      *reinterpret_cast<uint4*>(to) = word.word;
    } else {
      *to = word.items[0];
    }
  }
}

template <class Item, int kSide>
__device__ void CarryAlong(const Parameters<Item, kSide>& p) {
  for (int i = 0; i < p.carries; ++i) {
    const GatherImagesWork::Range& range = p.carry[i];
    for (size_t k = threadIdx.x; k < range.bytes; k += kThreads) range.to[k] = range.from[k];
  }
}

template <class Item, int kSide, bool kPlanar>
__global__ void __launch_bounds__(kThreads)
    GatherImages(const __grid_constant__ Parameters<Item, kSide> p, bool whole_words) {
  extern __shared__ uint4 tile[];
  __shared__ Item results[GatherImagesWork::kMaxChannels][256];
  __shared__ int16_t source_y[kSide], source_x[kSide];
  for (int i = threadIdx.x; i < 256 * p.channels; i += kThreads) {
    results[i / 256][i % 256] = p.results[i / 256][i % 256];
  }
  for (int i = threadIdx.x; i < kSide; i += kThreads) {
    source_y[i] = p.source_y[i];
    source_x[i] = p.source_x[i];
  }
  __syncthreads();
  const int pitch = p.in_width * p.channels;
  const int64_t items = int64_t{p.height} * p.width * p.channels;
  for (int i = blockIdx.x; i < p.count * p.bands; i += gridDim.x) {
    const GatherImageEntry entry = p.entries[i / p.bands];
    const int y = static_cast<int>(entry.y & ~GatherImageEntry::kFlip);
    const int top = i % p.bands * p.band, bottom = min(p.height, top + p.band);
    int first = kSide, last = -1;
    for (int row = top; row < bottom; ++row) {
      const int source = source_y[y + row];
      if (source < 0) continue;
      first = min(first, source);
      last = max(last, source);
    }
    const Image<Item, kSide> image = {
        p,
        results,
        source_y,
        source_x,
        {LoadRows(entry.address, min(first, last + 1), last, pitch, tile), first, pitch},
        y,
        static_cast<int>(entry.x),
        (entry.y & GatherImageEntry::kFlip) != 0};
    __syncthreads();
    Item* out = p.out + i / p.bands * items;
    if (whole_words) {
      StoreRows<Item, kSide, kPlanar, kWord / sizeof(Item)>(image, top, bottom, out);
    } else {
      StoreRows<Item, kSide, kPlanar, 1>(image, top, bottom, out);
    }
    __syncthreads();  // All are done with the tile.
  }
  if (blockIdx.x + 1 == gridDim.x) CarryAlong(p);
}

cudaError_t Processors(int& processors) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
}

template <class Item, int kSide>
void Fill(const GatherImagesWork& work, Parameters<Item, kSide>& p) {
  p.entries = work.entries;
  p.out = reinterpret_cast<Item*>(work.out);
  p.count = work.count;
  p.in_width = work.in_width;
  p.channels = work.channels;
  p.height = work.height;
  p.width = work.width;
  p.band = std::clamp(kBandBytes / (work.in_width * work.channels), 1, work.height);
  p.bands = (work.height + p.band - 1) / p.band;
  p.carries = work.carries;
  std::copy_n(work.carry, work.carries, p.carry);
  std::copy_n(work.source_y, work.padded_height, p.source_y);
  std::copy_n(work.source_x, work.padded_width, p.source_x);
  for (int c = 0; c < work.channels; ++c) {
    for (int v = 0; v < 256; ++v) p.results[c][v] = static_cast<Item>(work.bits[c][v]);
    p.fill[c] = p.results[c][work.fill[c]];
  }
}

template <class Item, int kSide>
cudaError_t Launch(const GatherImagesWork& work, cudaStream_t stream) {
  Parameters<Item, kSide> p = {};
  Fill(work, p);
  int processors = 0;
  const cudaError_t error = Processors(processors);
  if (error != cudaSuccess) return error;
  const int64_t bands = int64_t{p.bands} * p.count;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>(bands, int64_t{processors} * kBlocksPerProcessor));
  const size_t tile_bytes = size_t(p.band) * work.in_width * work.channels + 2 * kWord;
  const int a_row = work.planar ? work.width : work.width * work.channels;
  const bool whole_words = a_row * sizeof(Item) % kWord == 0 &&
                           reinterpret_cast<uint64_t>(work.out) % kWord == 0;
  if (work.planar) {
    GatherImages<Item, kSide, true><<<blocks, kThreads, tile_bytes, stream>>>(p, whole_words);
  } else {
    GatherImages<Item, kSide, false><<<blocks, kThreads, tile_bytes, stream>>>(p, whole_words);
  }
  return cudaGetLastError();
}

template <class Item>
cudaError_t LaunchSide(const GatherImagesWork& work, cudaStream_t stream) {
  constexpr int kSmall = 64;  // A launch takes its parameters along: few are faster.
  const bool small = std::max(work.padded_height, work.padded_width) <= kSmall;
  return small ? Launch<Item, kSmall>(work, stream)
               : Launch<Item, GatherImagesWork::kMaxSide>(work, stream);
}

}  // namespace

cudaError_t LaunchGatherImages(const GatherImagesWork& work, cudaStream_t stream) {
  if (work.count == 0) return cudaSuccess;
  return work.item_bytes == 2 ? LaunchSide<uint16_t>(work, stream)
                              : LaunchSide<uint32_t>(work, stream);
}

}  // namespace penstock
