#include "penstock/stages/decode/image_chain/image_chain_kernels.h"
#include "penstock/stages/decode/image_chain/image_chain_scratch.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour.cuh"

// The first pass: a block makes one strip of an image's rows. Tile by tile it turns planes into
// pixels in shared memory; each thread has one output column and adds up its taps for all rows of
// the strip, which share the weights. Sums are integers, so that they may be added up in parts.
namespace penstock {
namespace image_chain {
namespace {

using jpeg_colour::kPixels;

constexpr int kThreads = 256;
constexpr int kBlocksPerProcessor = 4;
constexpr int kTile = 512;  // Columns.
// A pixel is a word. After each eight there is an empty one: threads that write eight neighbouring
// pixels each, or read pixels a power of two apart, then use different banks.
constexpr int kRowWords = kTile / kPixels * (kPixels + 1);
constexpr int kPairs = kStripRows / 2;

struct Parameters {
  const int32_t* rows;
  const JpegPlanes* planes;
  const FieldView* pixels;
  const FieldView* out;
  std::byte* scratch;
  int32_t count;
  int64_t all_strips;
};

__device__ int WordOf(int column) { return column + column / kPixels; }

// The rows [first, end) of a strip whose first one would be `top`.
struct StripRows {
  int top, first, end;
};

// Fills the tile with columns [begin, end); begin is a multiple of eight.
template <bool kCommon>
__device__ void FillTile(const JpegPlanes& planes, const StripRows& rows, const Region& needed,
                         int begin, int end, uint32_t* tile) {
  const jpeg_colour::Part part = {rows.first, rows.end, needed.x, needed.x + needed.width};
  const int groups = (end - begin + kPixels - 1) / kPixels;
  for (int i = threadIdx.x; i < groups * kPairs; i += kThreads) {
    const int pair = i / groups, group = i - pair * groups;
    const int y = rows.top + 2 * pair;
    if (y + 1 < rows.first || y >= rows.end) continue;
    const jpeg_colour::PixelPair pixels =
        jpeg_colour::Pixels<kCommon>(planes, begin + group * kPixels, y, part);
    uint32_t* to = tile + 2 * pair * kRowWords + group * (kPixels + 1);
    for (int k = 0; k < kPixels; ++k) {
      to[k] = pixels.row[0].pixel[k];
      to[kRowWords + k] = pixels.row[1].pixel[k];
    }
  }
}

struct Sums {
  int32_t of[kStripRows][kChannels];
};

__device__ void AddTap(const uint32_t* column, int32_t weight, Sums& sums) {
  for (int r = 0; r < kStripRows; ++r) {
    const uint32_t pixel = column[r * kRowWords];
    sums.of[r][0] += weight * static_cast<int32_t>(pixel & 255);
    sums.of[r][1] += weight * static_cast<int32_t>(pixel >> 8 & 255);
    sums.of[r][2] += weight * static_cast<int32_t>(pixel >> 16);
  }
}

__device__ void Store(const Sums& sums, const StripRows& rows, const Region& needed,
                      const ImageMemory& memory, int column) {
  for (int r = 0; r < kStripRows; ++r) {
    const int y = rows.top + r;
    if (y < rows.first || y >= rows.end) continue;
    uint8_t* to = memory.between + int64_t{y - needed.y} * kChannels * memory.pitch + column;
    for (int c = 0; c < kChannels; ++c) {
      to[c * memory.pitch] = static_cast<uint8_t>(ValueOfSum(sums.of[r][c]));
    }
  }
}

// Output columns [first_column, first_column + kThreads) of a strip, as far as there are some.
template <bool kCommon>
__device__ void MakeColumns(const JpegPlanes& planes, const StripRows& rows, const Region& needed,
                            const ImageMemory& memory, int first_column, uint32_t* tile) {
  const AxisTaps& axis = memory.x;
  const int column = first_column + static_cast<int>(threadIdx.x);
  const Taps taps = column < axis.items ? axis.taps[column] : Taps{};
  // The outermost columns enclose what the others read; mirrored ones the other way around.
  const Taps a = axis.taps[first_column];
  const Taps b = axis.taps[min(first_column + kThreads, axis.items) - 1];
  const int begin = max(needed.x, min(a.begin, b.begin));
  const int end = min(needed.x + needed.width, max(a.begin + a.count, b.begin + b.count));
  Sums sums;
  for (int r = 0; r < kStripRows; ++r) {
    for (int c = 0; c < kChannels; ++c) sums.of[r][c] = kHalfValue;
  }
  for (int x = begin / kPixels * kPixels; x < end; x += kTile) {
    __syncthreads();  // All are done with the tile before.
    FillTile<kCommon>(planes, rows, needed, x, min(x + kTile, end), tile);
    __syncthreads();
    const int last = min(taps.begin + taps.count, x + kTile);
    for (int p = max(taps.begin, x); p < last; ++p) {
      AddTap(tile + WordOf(p - x), axis.weights[taps.at + int64_t{p - taps.begin} * axis.stride],
             sums);
    }
  }
  // The second pass reads four columns at a time.
  if (column < (axis.items + 3) / 4 * 4) Store(sums, rows, needed, memory, column);
}

template <bool kCommon>
__device__ void MakeStrip(const JpegPlanes& planes, const StripRows& rows, const Region& needed,
                          const ImageMemory& memory, uint32_t* tile) {
  for (int column = 0; column < memory.x.items; column += kThreads) {
    MakeColumns<kCommon>(planes, rows, needed, memory, column, tile);
  }
}

// Not inlined: the common kind has all registers for itself.
__device__ __noinline__ void MakeOtherStrip(const JpegPlanes& planes, const StripRows& rows,
                                            const Region& needed, const ImageMemory& memory,
                                            uint32_t* tile) {
  MakeStrip<false>(planes, rows, needed, memory, tile);
}

__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    FilterRows(const __grid_constant__ Parameters p) {
  __shared__ uint32_t tile[kStripRows * kRowWords];
  const CallSpace call(p.count, p.all_strips);
  const StripOf strip = reinterpret_cast<const StripOf*>(p.scratch + call.strips)[blockIdx.x];
  // Read rarely: registers are for sums.
  __shared__ JpegPlanes planes;
  __shared__ ImageMemory memory;
  if (threadIdx.x == 0) {
    planes = p.planes[strip.image];
    memory = reinterpret_cast<const ImageMemory*>(p.scratch + CallSpace::kMemories)[strip.image];
  }
  __syncthreads();
  if (planes.damaged != 0) return;
  const Region& region = p.pixels[p.rows[strip.image]].region;
  const int top = strip.strip * kStripRows - 1;
  const StripRows rows = {top, max(top, region.y), min(top + kStripRows, region.y + region.height)};
  if (jpeg_colour::IsCommon(planes)) {
    MakeStrip<true>(planes, rows, region, memory, tile);
  } else {
    MakeOtherStrip(planes, rows, region, memory, tile);
  }
}

}  // namespace
}  // namespace image_chain

cudaError_t LaunchImageRows(const ImageChainWork& work, cudaStream_t stream) {
  const int64_t strips = image_chain::CountStrips(work);
  if (strips == 0) return cudaSuccess;
  image_chain::Parameters parameters = {.rows = work.rows,
                                        .planes = work.planes,
                                        .pixels = work.pixels,
                                        .out = work.out,
                                        .scratch = work.scratch,
                                        .count = work.count,
                                        .all_strips = strips};
  void* arguments[] = {&parameters};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&image_chain::FilterRows),
                          dim3(static_cast<unsigned>(strips)), dim3(image_chain::kThreads),
                          arguments, 0, stream);
}

}  // namespace penstock
