// From differences of DC values to their sums: in a group, and over the groups before it.
#pragma once

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_group.cuh"

namespace penstock::jpeg_device {

// The first MCU of the group that begins a segment; behind the group if there is none.
__device__ inline int FirstRestart(const Group& group) {
  const uint32_t segment = group.image.geometry.segment_mcus;
  const uint32_t next = (group.first_mcu + segment - 1) / segment * segment;
  return static_cast<int>(min(next - group.first_mcu, kGroupBlocks));
}

// Sums of DC differences by component, perhaps anew from a restart marker on.
struct Sums {
  int of[kComponents] = {0, 0, 0};
  bool is_anew = false;

  // What these are after `next`.
  __device__ void Append(const Sums& next) {
    for (int c = 0; c < kComponents; ++c) of[c] = next.is_anew ? next.of[c] : of[c] + next.of[c];
    is_anew |= next.is_anew;
  }
};

// Adds up the differences within the group; a thread an MCU. Returns the sums at its end. `restart`
// is the first MCU of the group that begins a segment, if there is one.
__device__ inline Sums SumGroup(const Group& group, int restart, DecodeShared& shared) {
  const int segment_mcus = static_cast<int>(group.image.geometry.segment_mcus);
  Sums carry;
  for (int tile = 0; tile < group.mcus; tile += kDecodeThreads) {
    const int mcu = tile + static_cast<int>(threadIdx.x);
    const bool is_in = mcu < group.mcus;
    int16_t* dc = shared.blocks + mcu * group.mcu_blocks * kBlockItems;
    Sums mine;
    mine.is_anew = is_in && mcu >= restart && (mcu - restart) % segment_mcus == 0;
    for (int b = 0; is_in && b < group.mcu_blocks; ++b) {
      const int value = dc[b * kBlockItems];
      if (b < group.luma_blocks) {
        mine.of[0] += value;
        dc[b * kBlockItems] = static_cast<int16_t>(mine.of[0]);
      } else {
        mine.of[b - group.luma_blocks + 1] = value;
      }
    }
    const Sums alone = mine;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      Sums below;
      for (int c = 0; c < kComponents; ++c) {
        below.of[c] = __shfl_up_sync(kAllLanes, mine.of[c], distance);
      }
      below.is_anew = __shfl_up_sync(kAllLanes, static_cast<int>(mine.is_anew), distance) != 0;
      if (Lane() < distance) continue;
      below.Append(mine);
      mine = below;
    }
    if (Lane() == kWarp - 1) {
      for (int c = 0; c < kComponents; ++c) shared.sums[c][Warp()] = mine.of[c];
      shared.is_anew[Warp()] = mine.is_anew;
    }
    __syncthreads();
    Sums before;  // This warp.
    for (int w = 0; w < kDecodeWarps; ++w) {
      if (w == Warp()) before = carry;
      Sums sums;
      for (int c = 0; c < kComponents; ++c) sums.of[c] = shared.sums[c][w];
      sums.is_anew = shared.is_anew[w];
      carry.Append(sums);
    }
    before.Append(mine);
    for (int b = 0; is_in && b < group.mcu_blocks; ++b) {
      const int c = b < group.luma_blocks ? 0 : b - group.luma_blocks + 1;
      const int offset = before.of[c] - alone.of[c];
      dc[b * kBlockItems] = static_cast<int16_t>(dc[b * kBlockItems] + offset);
    }
    __syncthreads();
  }
  return carry;
}

// A group's word for those that look back: three sums of 16 bits and, above them, whether they are
// of the group alone or of the whole segment so far. 0: not yet known.
using SumsWord = unsigned long long;
inline constexpr int kKindShift = 48;
inline constexpr SumsWord kOfGroup = 1, kOfSegment = 2;

__device__ inline SumsWord PackSums(const int (&sums)[kComponents], SumsWord kind) {
  SumsWord word = kind << kKindShift;
  for (int c = 0; c < kComponents; ++c) {
    word |= static_cast<SumsWord>(static_cast<uint16_t>(sums[c])) << (16 * c);
  }
  return word;
}

// One warp: DC values at the group's beginning, into shared.before; publishes what the next need.
__device__ inline void LookBack(const JpegBatch& batch, const Group& group, const Sums& sums,
                                DecodeShared& shared) {
  volatile SumsWord* words = batch.sums + group.image.first_group;
  const auto publish = [&](const int (&values)[kComponents], SumsWord kind) {
    if (Lane() == 0) words[group.index] = PackSums(values, kind);
  };
  if (sums.is_anew) {
    publish(sums.of, kOfSegment);
  } else if (group.index > 0) {
    publish(sums.of, kOfGroup);
  }
  int before[kComponents] = {0, 0, 0};
  for (int back = static_cast<int>(group.index) - 1; back >= 0; back -= kWarp) {
    const int i = back - Lane();
    SumsWord word = 0;
    do {
      if (i >= 0 && word == 0) word = words[i];
    } while (__any_sync(kAllLanes, i >= 0 && word == 0));
    const uint32_t whole = __ballot_sync(kAllLanes, word >> kKindShift == kOfSegment);
    const int end = whole != 0 ? __ffs(static_cast<int>(whole)) - 1 : kWarp - 1;
    for (int c = 0; c < kComponents; ++c) {
      const bool counts = i >= 0 && Lane() <= end;
      const int value = counts ? static_cast<int16_t>(word >> (16 * c)) : 0;
      before[c] += static_cast<int>(WarpSum(static_cast<uint32_t>(value)));
    }
    if (whole != 0) break;
  }
  int after[kComponents];
  for (int c = 0; c < kComponents; ++c) {
    after[c] = before[c] + sums.of[c];
    if (Lane() == 0) shared.before[c] = before[c];
  }
  if (!sums.is_anew) publish(after, kOfSegment);
}

}  // namespace penstock::jpeg_device
