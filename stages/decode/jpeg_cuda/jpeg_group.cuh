// A group: the MCUs whose coefficients a block of the decoding kernel holds in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock::jpeg_device {

// Threads of a block of the decoding kernel.
inline constexpr int kDecodeThreads = 128;
inline constexpr int kDecodeWarps = kDecodeThreads / kWarp;
inline constexpr int kStaged = 96;  // Subsequences at a time.
inline constexpr int kDecodeRow = kStaged + 1;
inline constexpr int kDecodeLookAhead = 3;  // Words behind the last staged subsequence.
inline constexpr int kBlockItems =
    72;  // Of a block of coefficients: 64, and some to miss bank conflicts.
inline constexpr int kComponents = 3;
inline constexpr int kBlockLanes = 8;  // That transform a block together.
inline constexpr uint32_t kUnwanted = ~0U;
// More bits than a subsequence has: for all that are not their segment's last.
inline constexpr int kUnlimited = 1 << 20;

// Where a block's samples go, in 8 bytes from the image's planes on, and its coefficients lie, in
// bytes from the group's on.
struct Place {
  uint32_t samples, coefficients;
};

struct DecodeShared {
  uint32_t long_codes[kDecodeLongCodes];
  uint32_t lookup[4 * kDecodeIndices];
  uint32_t words[kDecodeRow * kSubsequenceWords];
  alignas(16) int16_t blocks[kGroupBlocks * kBlockItems];
  alignas(16) int16_t ignored[kBlockItems];  // For blocks of the groups beside.
  Place places[kGroupBlocks];
  // From zigzag order to columns. libjpeg writes what lies behind the last coefficient to the last.
  uint8_t positions[128];
  int sums[kComponents][kDecodeWarps];
  bool is_anew[kDecodeWarps];
  int before[kComponents];  // DC values that the group begins with.
  uint32_t item;
};
static_assert(sizeof(DecodeShared) <= 48 * 1024);

struct Group {
  const JpegImage& image;
  int image_index;
  uint32_t index;  // In the image.
  uint32_t first_mcu, first_block;
  int mcus, blocks;
  int mcu_blocks, luma_blocks;
};

__device__ inline Group FindGroup(const JpegBatch& batch, uint32_t item) {
  const int i = FindOwner(batch.first_group, batch.count, item);
  const JpegImage& image = batch.images[i];
  const JpegGeometry& g = image.geometry;
  const uint32_t index = item - image.first_group, first_mcu = index * g.group_mcus;
  const int mcus = static_cast<int>(min(g.group_mcus, g.mcus - first_mcu));
  return {.image = image,
          .image_index = i,
          .index = index,
          .first_mcu = first_mcu,
          .first_block = first_mcu * image.mcu_blocks,
          .mcus = mcus,
          .blocks = mcus * image.mcu_blocks,
          .mcu_blocks = image.mcu_blocks,
          .luma_blocks = image.mcu_blocks - (image.components - 1)};
}

// Whether there are samples to be made of it. If not, it matters for the DC values of those behind
// it, and for damage.
__device__ inline bool IsWanted(const Group& group) {
  const JpegGeometry& g = group.image.geometry;
  const auto first = static_cast<uint32_t>(g.first_row * g.mcus_across);
  const auto end = static_cast<uint32_t>(g.end_row * g.mcus_across);
  return group.first_mcu < end && group.first_mcu + group.mcus > first;
}

}  // namespace penstock::jpeg_device
