#include <algorithm>

#include "penstock/stages/transform/gather_images_kernel.h"

// A block takes bands of images in turn: it brings the rows that a band needs into shared memory,
// in whole 16-byte words, and writes the band's results in the order of the output. Images may lie
// behind the link, where a load takes microseconds: many blocks hide it.
namespace penstock {
namespace {

constexpr int kThreads = 192;
constexpr int kBlocksAtOnce = 8;      // On each processor; they hide how long loads take.
constexpr int64_t kMaxBlocks = 1024;  // A few for each processor of any device.
constexpr int kWord = 16;
constexpr int kBandBytes = 6144;  // Of the input, about.

using Images = GatherLaunch<GatherImageEntry>;

// Passed by value: a launch takes its own copy along, and no memory has to outlive it.
template <class Item, int kSide>
struct Parameters {
  Images launch;
  int32_t in_width, channels, height, width, band, bands;
  alignas(kWord) int16_t source_y[kSide];
  alignas(kWord) int16_t source_x[kSide];
  alignas(kWord) Item results[GatherImagesShape::kMaxChannels][256];
  Item fill[GatherImagesShape::kMaxChannels];
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

// Parameters into shared memory, word by word: what differs from thread to thread is served one by
// one.
template <class T>
__device__ void CopyParameters(const T& from, size_t bytes, T& to) {
  for (size_t i = threadIdx.x; i < bytes / kWord; i += kThreads) {
    reinterpret_cast<uint4*>(&to)[i] = reinterpret_cast<const uint4*>(&from)[i];
  }
}

// The entry of image `number` of the launch, and where the image goes.
template <class Item, int kSide>
__device__ GatherImageEntry LoadEntry(const Parameters<Item, kSide>& p, int number, int64_t items,
                                      Item*& out) {
  int b = p.launch.batches - 1;
  while (p.launch.batch[b].first > number) --b;
  const Images::Batch& batch = p.launch.batch[b];
  const int index = number - batch.first;
  out = reinterpret_cast<Item*>(batch.out) + index * items;
  return batch.entries[index];
}

// `bytes` from `from` to `to`, by the whole block. They may come over the link, where each load
// takes microseconds: whole words, and several on the way.
__device__ void CopyRange(const std::byte* from, size_t bytes, std::byte* to) {
  const bool aligned =
      (reinterpret_cast<uint64_t>(from) | reinterpret_cast<uint64_t>(to)) % kWord == 0;
  const size_t words = aligned ? bytes / kWord : 0;
#pragma unroll 4
  for (size_t i = threadIdx.x; i < words; i += kThreads) {
    reinterpret_cast<uint4*>(to)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }
  for (size_t i = words * kWord + threadIdx.x; i < bytes; i += kThreads) to[i] = from[i];
}

// The last blocks, which have the least to do.
__device__ void CarryAlong(const Images& launch) {
  for (int i = gridDim.x - 1 - blockIdx.x; i < launch.carries; i += gridDim.x) {
    CopyRange(launch.carry[i].from, launch.carry[i].bytes, launch.carry[i].to);
  }
}

template <class Item, int kSide, bool kPlanar>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    GatherImages(const __grid_constant__ Parameters<Item, kSide> p, bool whole_words) {
  extern __shared__ uint4 tile[];
  alignas(kWord) __shared__ Item results[GatherImagesShape::kMaxChannels][256];
  alignas(kWord) __shared__ int16_t source_y[kSide], source_x[kSide];
  const int pitch = p.in_width * p.channels;
  const int64_t items = int64_t{p.height} * p.width * p.channels;
  const int bands = p.launch.rows * p.bands;
  // The next entry is on its way over the link while other work is done.
  Item* next_out = nullptr;
  GatherImageEntry next;
  int i = blockIdx.x;
  if (i < bands) next = LoadEntry(p, i / p.bands, items, next_out);
  CarryAlong(p.launch);
  CopyParameters(p.results, p.channels * sizeof p.results[0], results);
  CopyParameters(p.source_y, sizeof p.source_y, source_y);
  CopyParameters(p.source_x, sizeof p.source_x, source_x);
  __syncthreads();
  for (; i < bands; i += gridDim.x) {
    const GatherImageEntry entry = next;
    Item* const out = next_out;
    if (i + gridDim.x < bands) next = LoadEntry(p, (i + gridDim.x) / p.bands, items, next_out);
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
    if (whole_words) {
      StoreRows<Item, kSide, kPlanar, kWord / sizeof(Item)>(image, top, bottom, out);
    } else {
      StoreRows<Item, kSide, kPlanar, 1>(image, top, bottom, out);
    }
    __syncthreads();  // All are done with the tile.
  }
}

template <class Item, int kSide>
Parameters<Item, kSide> ParametersOf(const GatherImagesShape& shape) {
  Parameters<Item, kSide> p = {};
  p.in_width = shape.in_width;
  p.channels = shape.channels;
  p.height = shape.height;
  p.width = shape.width;
  p.band = std::clamp(kBandBytes / (shape.in_width * shape.channels), 1, shape.height);
  p.bands = (shape.height + p.band - 1) / p.band;
  std::copy_n(shape.source_y, shape.padded_height, p.source_y);
  std::copy_n(shape.source_x, shape.padded_width, p.source_x);
  for (int c = 0; c < shape.channels; ++c) {
    for (int v = 0; v < 256; ++v) p.results[c][v] = static_cast<Item>(shape.bits[c][v]);
    p.fill[c] = p.results[c][shape.fill[c]];
  }
  return p;
}

}  // namespace

class GatherImagesKernel::Form {
 public:
  virtual ~Form() = default;
  virtual cudaError_t Launch(const Images& launch, cudaStream_t stream) const = 0;
};

namespace {

// Images whose padded sides are at most kSide.
template <class Item, int kSide>
class FormOf final : public GatherImagesKernel::Form {
 public:
  explicit FormOf(const GatherImagesShape& shape)
      : planar_(shape.planar), parameters_(ParametersOf<Item, kSide>(shape)) {}

  cudaError_t Launch(const Images& launch, cudaStream_t stream) const override {
    Parameters<Item, kSide> p = parameters_;
    p.launch = launch;
    const auto blocks = static_cast<unsigned>(std::min(kMaxBlocks, int64_t{p.bands} * launch.rows));
    const size_t tile_bytes = size_t(p.band) * p.in_width * p.channels + 2 * kWord;
    const int a_row = planar_ ? p.width : p.width * p.channels;
    bool whole_words = a_row * sizeof(Item) % kWord == 0;
    for (int b = 0; b < launch.batches; ++b) {
      whole_words = whole_words && reinterpret_cast<uint64_t>(launch.batch[b].out) % kWord == 0;
    }
    if (planar_) {
      GatherImages<Item, kSide, true><<<blocks, kThreads, tile_bytes, stream>>>(p, whole_words);
    } else {
      GatherImages<Item, kSide, false><<<blocks, kThreads, tile_bytes, stream>>>(p, whole_words);
    }
    return cudaGetLastError();
  }

 private:
  const bool planar_;
  const Parameters<Item, kSide> parameters_;
};

template <class Item>
std::unique_ptr<const GatherImagesKernel::Form> MakeForm(const GatherImagesShape& shape) {
  constexpr int kSmall = 64;  // A launch takes its parameters along: few are faster.
  if (std::max(shape.padded_height, shape.padded_width) <= kSmall) {
    return std::make_unique<FormOf<Item, kSmall>>(shape);
  }
  return std::make_unique<FormOf<Item, GatherImagesShape::kMaxSide>>(shape);
}

}  // namespace

GatherImagesKernel::GatherImagesKernel(const GatherImagesShape& shape)
    : form_(shape.item_bytes == 2 ? MakeForm<uint16_t>(shape) : MakeForm<uint32_t>(shape)) {}

GatherImagesKernel::~GatherImagesKernel() = default;

cudaError_t GatherImagesKernel::Launch(const GatherLaunch<GatherImageEntry>& launch,
                                       cudaStream_t stream) const {
  return launch.rows == 0 ? cudaSuccess : form_->Launch(launch, stream);
}

}  // namespace penstock
