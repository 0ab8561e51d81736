// What follows from a descriptor and a region alone: how much work and memory an image is. The same
// on the host, which sizes launches and scratch memory, and on the device, which does the work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_descriptor.h"
#include "penstock/stages/field.h"

namespace penstock {

// Scan data is freed of stuffing in chunks of this many bytes.
inline constexpr uint32_t kJpegChunkBytes = 4096;
// A subsequence: what a thread decodes by itself.
inline constexpr uint32_t kSubsequenceBytes = 32;
inline constexpr uint32_t kSubsequenceWords = kSubsequenceBytes / 4;
// Every segment (between restart markers) begins with a subsequence of its own, and at least one
// subsequence before it is empty.
inline constexpr uint32_t kSegmentGap = 2;

// Of the kernel that synchronises: its threads, the subsequences that each begins with, and how
// many threads go over the end of the previous block's first, to come in step.
inline constexpr int kSyncThreads = 256;
inline constexpr int kSyncPerThread = 4;
inline constexpr int kSyncWarmUpThreads = 16;
inline constexpr uint32_t kSyncOwned = (kSyncThreads - kSyncWarmUpThreads) * kSyncPerThread;

// Most coefficient blocks that a block of the decoding kernel takes at a time.
inline constexpr uint32_t kGroupBlocks = 192;

// Planes of an image begin at multiples of this.
inline constexpr uint64_t kPlaneAlignment = 128;

// Blocks of 8x8 samples of a plane that are wanted: from first to last, both included.
struct BlockRange {
  int32_t first_x = 0, last_x = -1, first_y = 0, last_y = -1;
};

struct JpegGeometry {
  int32_t mcus_across = 0, mcu_rows = 0;
  uint32_t mcus = 0;
  // MCUs from one restart marker to the next, and such segments that are looked at.
  uint32_t segment_mcus = 0, segments = 0;
  // The rectangle of MCUs that the region draws on; the ends are not part of it.
  int32_t first_column = 0, end_column = 0, first_row = 0, end_row = 0;
  BlockRange luma, chroma;
  int32_t last_damage_row = -1;  // Damage below this row of MCUs does not matter.
  int32_t luma_stride = 0, chroma_stride = 0;
  uint64_t plane_bytes = 0;  // Of all planes together.
  // Work, upper bounds where only the data tell.
  uint32_t chunks = 0, subsequences = 0, sync_blocks = 0;
  uint32_t group_mcus = 0, groups = 0;
};

namespace jpeg_internal {

__host__ __device__ inline int32_t Lower(int32_t a, int32_t b) { return a < b ? a : b; }
__host__ __device__ inline int32_t Higher(int32_t a, int32_t b) { return a > b ? a : b; }
__host__ __device__ inline uint32_t Quotient(uint64_t a, uint32_t b) {
  return static_cast<uint32_t>((a + b - 1) / b);
}
__host__ __device__ inline int Log2(int sampling) { return sampling >> 1; }  // Of 1, 2 and 4.

// `right` and `bottom` are the last samples that are wanted.
__host__ __device__ inline BlockRange RangeOf(int left, int right, int top, int bottom) {
  return {left / 8, right / 8, top / 8, bottom / 8};
}

__host__ __device__ inline void SetRectangle(const JpegDescriptor& d, const Region& r,
                                             JpegGeometry& g) {
  const int right = r.x + r.width - 1, bottom = r.y + r.height - 1;
  g.luma = RangeOf(r.x, right, r.y, bottom);
  g.first_column = g.luma.first_x / d.h;
  g.end_column = g.luma.last_x / d.h + 1;
  g.first_row = g.luma.first_y / d.v;
  g.end_row = g.luma.last_y / d.v + 1;
  if (d.components == 1) return;
  // Interpolation draws on one sample around; the row below only from the next pixel row on.
  const int across = Log2(d.h), down = Log2(d.v), margin_x = across > 0, margin_y = down > 0;
  g.chroma =
      RangeOf(Higher((r.x >> across) - margin_x, 0),
              Lower((right >> across) + margin_x, (d.width - 1) >> across),
              Higher((r.y >> down) - margin_y, 0), Lower(bottom + margin_y, d.height - 1) >> down);
  g.first_column = Lower(g.first_column, g.chroma.first_x);
  g.end_column = Higher(g.end_column, g.chroma.last_x + 1);
  g.first_row = Lower(g.first_row, g.chroma.first_y);
  g.end_row = Higher(g.end_row, g.chroma.last_y + 1);
}

}  // namespace jpeg_internal

__host__ __device__ inline JpegGeometry GeometryOf(const JpegDescriptor& d, const Region& region) {
  using jpeg_internal::Quotient;
  JpegGeometry g;
  g.mcus_across = (d.width + 8 * d.h - 1) / (8 * d.h);
  g.mcu_rows = (d.height + 8 * d.v - 1) / (8 * d.v);
  g.mcus = static_cast<uint32_t>(g.mcus_across) * static_cast<uint32_t>(g.mcu_rows);
  const bool has_restarts = d.restart_interval != 0 && d.restart_interval < g.mcus;
  g.segment_mcus = has_restarts ? d.restart_interval : g.mcus;
  g.group_mcus = kGroupBlocks / d.mcu_blocks;
  if (region.height > 0 && region.width > 0) jpeg_internal::SetRectangle(d, region, g);
  const int last_row = (g.end_row + d.row_group - 1) / d.row_group * d.row_group - 1;
  g.last_damage_row = last_row < g.mcu_rows ? last_row : g.mcu_rows - 1;
  const uint32_t needed = static_cast<uint32_t>(g.last_damage_row + 1) * g.mcus_across;
  g.groups = Quotient(needed, g.group_mcus);
  g.segments = Quotient(needed, g.segment_mcus);

  const uint32_t columns = g.end_column - g.first_column, rows = g.end_row - g.first_row;
  g.luma_stride = static_cast<int32_t>(columns * 8 * d.h);
  g.chroma_stride = d.components == 1 ? 0 : static_cast<int32_t>(columns * 8);
  const uint64_t bytes = uint64_t{columns} * rows * d.mcu_blocks * 64;
  g.plane_bytes = (bytes + kPlaneAlignment - 1) / kPlaneAlignment * kPlaneAlignment;

  // A word of 16 bytes may begin up to 15 bytes before the scan; there is at least one chunk.
  g.chunks = Quotient(uint64_t{d.scan_bytes} + 16, kJpegChunkBytes);
  // Each segment but the first is behind a marker of two bytes.
  const uint32_t most_segments = d.scan_bytes / 2 + 1;
  const uint32_t found = g.segments < most_segments ? g.segments : most_segments;
  g.subsequences = d.scan_bytes / kSubsequenceBytes + kSegmentGap * (found > 0 ? found : 1);
  g.sync_blocks = Quotient(g.subsequences, kSyncOwned);
  return g;
}

}  // namespace penstock
