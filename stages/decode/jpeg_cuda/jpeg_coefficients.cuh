// From the subsequences of a group to its coefficients, in shared memory.
#pragma once

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_group.cuh"

namespace penstock::jpeg_device {

// The value of the `size` bits (not 0) that end at bit `end` of the window.
__device__ inline int Extend(uint32_t window, uint32_t end, uint32_t size) {
  const uint32_t bits = window << (end - size);
  const int value = static_cast<int>(bits >> (32 - size));
  return static_cast<int>(bits) < 0 ? value : value - (1 << size) + 1;
}

// What a thread knows of its subsequence.
struct Subsequence {
  int words;  // With data.
  int limit;  // Bits that are there.
  uint32_t state;
  int block;  // In the group; negative before it.
  int end;    // Blocks of the group up to the segment's end.
};

__device__ inline Subsequence Inspect(const JpegBatch& batch, const Group& group, uint32_t s,
                                      uint32_t used) {
  const JpegGeometry& g = group.image.geometry;
  const size_t at = size_t{group.image.first_subsequence} + s;
  const uint32_t contents = batch.contents[at];
  const bool is_last = s + 1 >= used || batch.contents[at + 1] == 0;
  const uint32_t segment_end = (ContentSegment(contents) + 1) * g.segment_mcus * group.mcu_blocks;
  return {.words = WordsOf(contents),
          .limit = is_last ? static_cast<int>(ContentBytes(contents)) * 8 : kUnlimited,
          .state = s == 0 ? 0 : batch.states[at - 1] & kStateMask,
          .block = static_cast<int>(batch.first_block[at] - group.first_block),
          .end = min(group.blocks, static_cast<int>(segment_end - group.first_block))};
}

// Decodes what begins in subsequence `column` of the staged ones. Reports codes that are none, and
// blocks that take more bits than there are. kDcOnly: of the coefficients only DC is kept.
template <bool kDcOnly>
__device__ inline void DecodeSubsequence(const JpegBatch& batch, const Group& group,
                                         const Subsequence& sub, int column,
                                         const CanonicalTable* canonical, DecodeShared& shared) {
  int words = sub.words, block = sub.block;
  if (words == 0 || block >= sub.end) return;
  const uint32_t mask = group.image.pair_mask, period = group.image.period;
  uint32_t position = PositionOf(sub.state), phase = BlockOf(sub.state);
  const uint32_t* q = shared.words + column;
  const int jump = 1 - words * kDecodeRow;
  uint32_t w0 = q[0], w1 = q[kDecodeRow], w2 = q[2 * kDecodeRow];
  q += 3 * kDecodeRow;
  if (words < 3) q += jump;
  uint32_t pair = (mask >> phase & 1) * (2 * kDecodeIndices);
  uint32_t table = pair + (position >> kPositionIndexShift != 0 ? kDecodeIndices : 0);
  uint32_t stop = kPositionBlockEnd | (words == 1 ? kPositionCarry : 0);
  int16_t* out = block < 0 ? shared.ignored : shared.blocks + block * kBlockItems;
  while (words > 0) {
    const uint32_t window = Window(w1, w0, position);
    uint32_t entry = shared.lookup[table + (window >> (32 - kDecodeIndexBits))];
    if (entry == 0) {
      entry = LookUpLong<kDecodeLongCodes>(reinterpret_cast<const uint16_t*>(shared.long_codes),
                                           canonical, table / kDecodeIndices, window);
      if (entry == kInvalidEntry * 0x10001 && block >= 0) {
        ReportDamage(batch, group.image_index, group.first_block + block);
      }
    }
    const uint32_t steps = entry & kSyncEntryMask;
    const uint32_t one = position + FirstStep(steps), two = position + SecondStep(steps);
    const uint32_t size_one = entry >> 5 & 15, size_two = entry >> 21 & 15;
    const bool takes_two = (one & stop) == 0 && two != one;
    // Behind DC the index is 1, and behind nothing else.
    if (size_one != 0 && (!kDcOnly || one >> kPositionIndexShift == 1)) {
      out[shared.positions[(one >> kPositionIndexShift) - 1]] =
          static_cast<int16_t>(Extend(window, steps & 31, size_one));
    }
    if (!kDcOnly && takes_two && size_two != 0) {
      out[shared.positions[(two >> kPositionIndexShift) - 1]] =
          static_cast<int16_t>(Extend(window, steps >> 16 & 31, size_two));
    }
    position = takes_two ? two : one;
    if ((position & kPositionCarry) != 0) {
      position ^= kPositionCarry;
      w0 = w1;
      w1 = w2;
      if (words == 3) q += jump;
      w2 = *q;
      q += kDecodeRow;
      --words;
      if (words == 1) stop |= kPositionCarry;
    }
    table = pair + kDecodeIndices;
    if ((position & kPositionBlockEnd) != 0) {
      position &= 31;
      const int taken = (sub.words - words) * 32 + static_cast<int>(position);
      if (taken > sub.limit && block >= 0) {
        ReportDamage(batch, group.image_index, group.first_block + block);
      }
      if (++block >= sub.end) break;
      out = block < 0 ? shared.ignored : shared.blocks + block * kBlockItems;
      phase = phase + 1 == period ? 0 : phase + 1;
      pair = (mask >> phase & 1) * (2 * kDecodeIndices);
      table = pair;
    }
  }
}

// The coefficients of the group's blocks, DC values still as differences.
template <bool kDcOnly>
__device__ inline void DecodeGroup(const JpegBatch& batch, const Group& group,
                                   const CanonicalTable* canonical, DecodeShared& shared) {
  const JpegImage& image = group.image;
  const uint32_t used = batch.used[group.image_index];
  const uint32_t* start = batch.group_start + image.first_group + group.image_index + group.index;
  const uint32_t first = start[0];
  if (first == kNoSubsequence) return;  // Its data are missing.
  const uint32_t last = min(start[1], used - 1);
  const uint32_t end_block = group.first_block + group.blocks;
  const size_t base = image.first_subsequence;
  for (uint32_t f = first; f <= last; f += kStaged) {
    if (batch.first_block[base + f] >= end_block) break;  // Where the next group is missing.
    const int count = static_cast<int>(min(uint32_t{kStaged}, last + 1 - f));
    if (f != first) __syncthreads();
    const uint32_t* words = batch.words + (base + f) * kSubsequenceWords;
    for (int i = threadIdx.x; i < count * static_cast<int>(kSubsequenceWords) + kDecodeLookAhead;
         i += kDecodeThreads) {
      shared.words[i % kSubsequenceWords * kDecodeRow + i / kSubsequenceWords] = words[i];
    }
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    if (column < count) {
      const Subsequence sub = Inspect(batch, group, f + column, used);
      DecodeSubsequence<kDcOnly>(batch, group, sub, column, canonical, shared);
    }
  }
}

}  // namespace penstock::jpeg_device
