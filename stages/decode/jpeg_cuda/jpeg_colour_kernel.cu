#include <algorithm>

#include "penstock/stages/decode/jpeg_cuda/jpeg_colour.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour_kernel.h"

// A unit of work is a segment: 256 columns of two rows, of which each lane of a warp makes eight.
// Their bytes go through shared memory, as 32-bit words that are aligned as the output is, so that
// what is written is whole, neighbouring words.
namespace penstock {
namespace {

using jpeg_colour::kPixels;
using jpeg_colour::PixelPair;
using jpeg_colour::PixelRow;

constexpr int kWarp = 32;
constexpr int kWarps = 8;
constexpr int kThreads = kWarp * kWarps;
constexpr int kSegment = kWarp * kPixels;  // Columns.
constexpr int kChannels = 3;
constexpr int kLaneWords = kPixels * kChannels / 4;
constexpr int kSegmentWords = kWarp * kLaneWords + 1;  // One more: the bytes are shifted.
constexpr uint32_t kAllLanes = 0xFFFFFFFF;
// Blocks of an image: enough that large ones are shared, few enough that small ones waste none.
constexpr int64_t kMaxBlocksAnImage = 256;

struct Parameters {
  const int32_t* rows;
  const JpegPlanes* planes;
  const FieldView* pixels;
  int32_t blocks_an_image;
};

// How an image's region is cut into units.
struct Segments {
  int32_t first_column, first_row, across, down;

  __host__ __device__ explicit Segments(const Region& region)
      : first_column(region.x & ~(kPixels - 1)),
        first_row(((region.y + 1) & ~1) - 1),
        across((region.x + region.width - first_column + kSegment - 1) / kSegment),
        down((region.y + region.height - first_row + 1) / 2) {}
  __host__ __device__ int64_t count() const { return int64_t{across} * down; }
};

// Eight pixels as 24 bytes, without the fourth of each.
__device__ void Squeeze(const PixelRow& pixels, uint32_t* words) {
  for (int i = 0; i < 2; ++i) {
    const uint32_t* p = pixels.pixel + 4 * i;
    words[3 * i] = p[0] | p[1] << 24;
    words[3 * i + 1] = p[1] >> 8 | p[2] << 16;
    words[3 * i + 2] = p[2] >> 16 | p[3] << 8;
  }
}

// Writes bytes [begin, end) of `words` to the addresses from `to` on, which is a multiple of 4.
__device__ void StoreBytes(const uint32_t* words, int begin, int end, uint64_t to) {
  for (int i = threadIdx.x % kWarp; 4 * i < end; i += kWarp) {
    const uint32_t word = words[i];
    if (4 * i >= begin && 4 * i + 4 <= end) {
      *reinterpret_cast<uint32_t*>(to + 4 * i) = word;
      continue;
    }
    for (int b = max(4 * i, begin); b < min(4 * i + 4, end); ++b) {
      *reinterpret_cast<uint8_t*>(to + b) = static_cast<uint8_t>(word >> (b % 4 * 8));
    }
  }
}

// By all lanes of a warp: row `y` of a segment that begins with column `x`, eight pixels a lane.
__device__ void StoreRow(const PixelRow& pixels, const FieldView& out, int x, int y,
                         uint32_t* buffer) {
  const int lane = threadIdx.x % kWarp;
  const Region& region = out.region;
  const int begin_column = max(region.x, x),
            end_column = min(region.x + region.width, x + kSegment);
  // Byte 0 of the segment would lie here, perhaps before the output.
  const uint64_t base =
      out.address + (int64_t{y - region.y} * region.width + (x - region.x)) * int64_t{kChannels};
  const int misalignment = static_cast<int>(base % 4);
  uint32_t words[kLaneWords];
  Squeeze(pixels, words);
  uint32_t before = __shfl_up_sync(kAllLanes, words[kLaneWords - 1], 1);
  if (lane == 0) before = 0;
  for (int i = 0; i < kLaneWords; ++i) {
    buffer[lane * kLaneWords + i] = __funnelshift_l(before, words[i], misalignment * 8);
    before = words[i];
  }
  if (lane == kWarp - 1) {
    buffer[kSegmentWords - 1] = __funnelshift_l(before, 0, misalignment * 8);
  }
  __syncwarp();
  StoreBytes(buffer, misalignment + (begin_column - x) * kChannels,
             misalignment + (end_column - x) * kChannels, base - misalignment);
  __syncwarp();
}

template <bool kCommon>
__device__ void MakeSegments(const JpegPlanes& planes, const FieldView& out, int block, int blocks,
                             uint32_t* buffer) {
  const Segments segments(out.region);
  const jpeg_colour::Part part = {out.region.y, out.region.y + out.region.height, out.region.x,
                                  out.region.x + out.region.width};
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int64_t i = int64_t{block} * kWarps + warp; i < segments.count();
       i += int64_t{blocks} * kWarps) {
    const int down = static_cast<int>(i / segments.across);
    const int across = static_cast<int>(i - int64_t{down} * segments.across);
    const int x = segments.first_column + across * kSegment, y = segments.first_row + 2 * down;
    PixelPair pair = {};
    if (x + lane * kPixels < part.end_column) {
      pair = jpeg_colour::Pixels<kCommon>(planes, x + lane * kPixels, y, part);
    }
    if (y >= part.first_row) StoreRow(pair.row[0], out, x, y, buffer);
    if (y + 1 < part.end_row) StoreRow(pair.row[1], out, x, y + 1, buffer);
  }
}

__global__ void __launch_bounds__(kThreads)
    MakeColours(const __grid_constant__ Parameters parameters) {
  __shared__ uint32_t buffers[kWarps][kSegmentWords];
  const int image = static_cast<int>(blockIdx.x) / parameters.blocks_an_image;
  const int block = static_cast<int>(blockIdx.x) % parameters.blocks_an_image;
  const JpegPlanes& planes = parameters.planes[image];
  const FieldView& out = parameters.pixels[parameters.rows[image]];
  if (planes.damaged != 0 || out.region.width <= 0 || out.region.height <= 0) return;
  uint32_t* buffer = buffers[threadIdx.x / kWarp];
  if (jpeg_colour::IsCommon(planes)) {
    MakeSegments<true>(planes, out, block, parameters.blocks_an_image, buffer);
  } else {
    MakeSegments<false>(planes, out, block, parameters.blocks_an_image, buffer);
  }
}

// As many as the largest image keeps busy.
int32_t BlocksAnImage(const JpegColourWork& work) {
  int64_t most = 0;
  for (int32_t i = 0; i < work.count; ++i) {
    const Region& region = work.host_pixels[work.host_rows[i]].region;
    if (!region.empty()) most = std::max(most, Segments(region).count());
  }
  return static_cast<int32_t>(std::min((most + kWarps - 1) / kWarps, kMaxBlocksAnImage));
}

}  // namespace

cudaError_t LaunchJpegColour(const JpegColourWork& work, cudaStream_t stream) {
  Parameters parameters = {work.rows, work.planes, work.pixels, BlocksAnImage(work)};
  const int64_t blocks = int64_t{work.count} * parameters.blocks_an_image;
  if (blocks == 0) return cudaSuccess;
  void* arguments[] = {&parameters};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&MakeColours),
                          dim3(static_cast<unsigned>(blocks)), dim3(kThreads), arguments, 0,
                          stream);
}

}  // namespace penstock
