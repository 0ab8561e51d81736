// OverlapLog: from the time stamps of batches, how long copies, device steps and the consumer's
// work ran, and how long copies and consumer work ran at the same time.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/memory/batch.h"
#include "penstock/scheduler/histogram.h"

namespace penstock {

// Half-open intervals of seconds, in any order.
using Intervals = std::vector<std::pair<double, double>>;

// Length of the union, and of the intersection of two unions.
double UnionLength(Intervals intervals);
double IntersectionLength(Intervals a, Intervals b);

// Thread-safe.
class OverlapLog {
 public:
  struct Totals {
    double copy_s = 0, steps_s = 0, work_s = 0;  // Of the union of each.
    double both_s = 0;                           // Copy and work at once.
    int64_t batches = 0;
    // both_s / the smaller of copy_s and work_s; 0 where one of them is.
    double overlap_fraction() const;
  };

  void Add(std::shared_ptr<const BatchTiming> timing);
  // Takes in the batches whose events have all passed, so that their events go back to the pool.
  void Harvest();
  Totals totals() const;
  // Of one batch's copy, its device steps, and the consumer's work on it.
  const Histogram& copy_times() const { return copy_times_; }
  const Histogram& steps_times() const { return steps_times_; }
  const Histogram& work_times() const { return work_times_; }

 private:
  // Later batches are not kept: enough for a judgement, and bounded.
  static constexpr size_t kMaxBatches = 65536;

  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const BatchTiming>> pending_;
  std::shared_ptr<const TimingEvent> origin_;  // Time 0.
  Intervals copies_, steps_, work_;
  Histogram copy_times_, steps_times_, work_times_;
};

}  // namespace penstock
