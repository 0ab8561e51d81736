#include "penstock/scheduler/overlap.h"

#include <algorithm>

namespace penstock {
namespace {

// Sorted and without overlaps.
void Merge(Intervals& intervals) {
  std::sort(intervals.begin(), intervals.end());
  size_t kept = 0;
  for (const auto& interval : intervals) {
    if (kept > 0 && interval.first <= intervals[kept - 1].second) {
      intervals[kept - 1].second = std::max(intervals[kept - 1].second, interval.second);
    } else {
      intervals[kept++] = interval;
    }
  }
  intervals.resize(kept);
}

double Length(const Intervals& intervals) {
  double length = 0;
  for (const auto& [start, end] : intervals) length += end - start;
  return length;
}

bool Passed(const std::shared_ptr<TimingEvent>& event) {
  return event == nullptr || event->Done().value_or(true);
}

}  // namespace

double UnionLength(Intervals intervals) {
  Merge(intervals);
  return Length(intervals);
}

double IntersectionLength(Intervals a, Intervals b) {
  Merge(a);
  Merge(b);
  double length = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double start = std::max(a[i].first, b[j].first);
    const double end = std::min(a[i].second, b[j].second);
    length += std::max(0.0, end - start);
    if (a[i].second < b[j].second) {
      ++i;
    } else {
      ++j;
    }
  }
  return length;
}

double OverlapLog::Totals::overlap_fraction() const {
  const double smaller = std::min(copy_s, work_s);
  return smaller > 0 ? both_s / smaller : 0;
}

void OverlapLog::Add(int64_t number, std::shared_ptr<const BatchTiming> timing) {
  const std::lock_guard lock(mutex_);
  if (copies_.size() + pending_.size() >= kMaxBatches) return;
  pending_.push_back({number, std::move(timing)});
}

bool OverlapLog::Batch::is_over() const {
  // One that is still shared with its consumer may yet record work.
  return timing.use_count() == 1 && Passed(timing->copy_end) && Passed(timing->steps_end) &&
         Passed(timing->work_end);
}

// Batches that a consumer keeps do not hold back those behind them.
void OverlapLog::Harvest() {
  const std::lock_guard lock(mutex_);
  std::erase_if(pending_, [this](const Batch& batch) {
    if (!batch.is_over()) return false;
    Take(batch);
    return true;
  });
}

void OverlapLog::Take(const Batch& batch) {
  const BatchTiming& timing = *batch.timing;
  if (origin_ == nullptr) origin_ = timing.copy_start;
  const auto add = [this](Intervals& to, const std::shared_ptr<TimingEvent>& start,
                          const std::shared_ptr<TimingEvent>& end, Histogram& times) {
    if (start == nullptr || end == nullptr) return false;
    const auto from = start->Since(*origin_), until = end->Since(*origin_);
    if (!from.ok() || !until.ok()) return false;
    to.emplace_back(absl::ToDoubleSeconds(*from), absl::ToDoubleSeconds(*until));
    times.Add(absl::ToInt64Nanoseconds(*until - *from));
    return true;
  };
  if (add(copies_, timing.copy_start, timing.copy_end, copy_times_)) AddGap(batch.number);
  add(steps_, timing.copy_end, timing.steps_end, steps_times_);
  add(work_, timing.work_start, timing.work_end, work_times_);
}

// Of the last copy, which is that of batch `number`.
void OverlapLog::AddGap(int64_t number) {
  const auto [start, end] = copies_.back();
  if (number == last_copy_ + 1) {
    const double gap = std::max(0.0, start - last_copy_end_);
    gaps_s_ += gap;
    longest_gap_s_ = std::max(longest_gap_s_, gap);
    copy_gaps_.Add(static_cast<int64_t>(gap * 1e9));
  }
  last_copy_ = number;
  last_copy_end_ = end;
}

OverlapLog::Totals OverlapLog::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals;
  totals.copy_s = UnionLength(copies_);
  totals.steps_s = UnionLength(steps_);
  totals.work_s = UnionLength(work_);
  totals.both_s = IntersectionLength(copies_, work_);
  totals.batches = static_cast<int64_t>(copies_.size());
  totals.gaps_s = gaps_s_;
  totals.longest_gap_s = longest_gap_s_;
  return totals;
}

}  // namespace penstock
