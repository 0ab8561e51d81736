// Histogram: durations by a lock-free count in logarithmic buckets, for percentiles.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "absl/time/time.h"

namespace penstock {

// Eight buckets an octave from 1 ns up: a percentile is right within an eighth. Thread-safe.
class Histogram {
 public:
  void Add(int64_t nanoseconds, int64_t times = 1) {
    counts_[Bucket(nanoseconds)].fetch_add(times, std::memory_order_relaxed);
  }
  // The upper edge of the bucket that holds the `fraction` quantile; zero when nothing was counted.
  absl::Duration Quantile(double fraction) const {
    int64_t total = 0;
    for (const auto& count : counts_) total += count.load(std::memory_order_relaxed);
    if (total == 0) return absl::ZeroDuration();
    auto left = static_cast<int64_t>(fraction * static_cast<double>(total - 1)) + 1;
    size_t bucket = 0;
    while (bucket + 1 < counts_.size()) {
      left -= counts_[bucket].load(std::memory_order_relaxed);
      if (left <= 0) break;
      ++bucket;
    }
    return absl::Nanoseconds(UpperEdge(bucket));
  }

 private:
  static constexpr int kSubBits = 3, kSub = 1 << kSubBits;
  static constexpr int kOctaves = 42;  // Up to 73 minutes.

  static size_t Bucket(int64_t nanoseconds) {
    const uint64_t value = nanoseconds < 1 ? 1 : static_cast<uint64_t>(nanoseconds);
    if (value < kSub) return value;
    const int shift = std::bit_width(value) - 1 - kSubBits;
    const size_t bucket = static_cast<size_t>(shift + 1) * kSub + (value >> shift) - kSub;
    return bucket < kOctaves * kSub ? bucket : kOctaves * kSub - 1;
  }
  static int64_t UpperEdge(size_t bucket) {
    if (bucket < kSub) return static_cast<int64_t>(bucket);
    const size_t shift = bucket / kSub - 1;
    return (static_cast<int64_t>(bucket % kSub + kSub + 1) << shift) - 1;
  }

  std::array<std::atomic<int64_t>, kOctaves * kSub> counts_{};
};

}  // namespace penstock
