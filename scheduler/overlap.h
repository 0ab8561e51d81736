// OverlapLog: from the time stamps of some batches, how long copies, device steps and the
// consumer's work ran, how long copies and consumer work ran at the same time, and how long no copy
// ran.
#pragma once

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
    // Of copies of neighbouring batches: the time between them, in all and the longest.
    double gaps_s = 0, longest_gap_s = 0;
    // Of the time from the first to the last of neighbouring copies, the part in which one ran.
    double copy_utilisation() const { return copy_s > 0 ? copy_s / (copy_s + gaps_s) : 0; }
    // both_s / the smaller of copy_s and work_s; 0 where one of them is.
    double overlap_fraction() const;
  };

  // `number`: neighbouring batches of an output and device have neighbouring numbers.
  void Add(int64_t number, std::shared_ptr<const BatchTiming> timing);
  // Takes in the batches whose events have all passed, so that their events go back to the pool.
  void Harvest();
  Totals totals() const;
  // Of one batch's copy, its device steps, and the consumer's work on it.
  const Histogram& copy_times() const { return copy_times_; }
  const Histogram& steps_times() const { return steps_times_; }
  const Histogram& work_times() const { return work_times_; }
  // Between the copies of neighbouring batches.
  const Histogram& copy_gaps() const { return copy_gaps_; }

 private:
  // Later batches are not kept: enough for a judgement, and bounded.
  static constexpr size_t kMaxBatches = 65536;

  mutable std::mutex mutex_;
  struct Batch {
    int64_t number;
    std::shared_ptr<const BatchTiming> timing;
    bool is_over() const;
  };
  void Take(const Batch& batch);
  void AddGap(int64_t number);

  std::vector<Batch> pending_;                 // In the order of Add().
  std::shared_ptr<const TimingEvent> origin_;  // Time 0.
  Intervals copies_, steps_, work_;
  Histogram copy_times_, steps_times_, work_times_, copy_gaps_;
  int64_t last_copy_ = -2;  // Number of the batch of the last copy.
  double last_copy_end_ = 0, gaps_s_ = 0, longest_gap_s_ = 0;
};

}  // namespace penstock
