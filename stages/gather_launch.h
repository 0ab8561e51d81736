// What the kernel of a gather form gets of a call: its batches, by value. Knows no stage, so that
// nvcc has little to read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// What a launch can take.
inline constexpr size_t kMaxGathered = 8;  // Batches.
inline constexpr size_t kMaxCarries = 16;  // Of all its batches.

// A small range that a launch brings along: labels.
struct Carry {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
};

// Made by LaunchOf(). All memory is the device's, or page-locked on the host.
template <class Entry>
struct GatherLaunch {
  struct Batch {
    const Entry* entries = nullptr;
    std::byte* out = nullptr;  // Rows without gaps.
    int32_t first = 0;         // Number of its first row in the launch; ascending.
  };
  int32_t rows = 0;  // Of all batches.
  int32_t batches = 0;
  Batch batch[kMaxGathered];
  int32_t carries = 0;
  Carry carry[kMaxCarries];
};

}  // namespace penstock
