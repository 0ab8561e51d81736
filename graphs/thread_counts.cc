#include "penstock/graphs/thread_counts.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int kMinIoThreads = 4, kMostForKept = 6;

}  // namespace

ThreadCounts ChooseThreads(int asked, int asked_io, bool all_kept, const CpuBudget& budget) {
  ThreadCounts counts;
  counts.threads = asked > 0 ? asked : budget.threads;
  counts.reason = asked > 0 ? "as asked" : budget.reason;
  // Also where all samples are kept: these threads read them before the first batch.
  counts.io_threads = asked_io > 0 ? asked_io : std::max(kMinIoThreads, counts.threads);
  // Then tasks take microseconds: of more workers some only look for work, and hold up the others,
  // the consumer and the device's thread.
  const int enough = std::clamp(budget.threads - 2, 1, kMostForKept);
  if (asked > 0 || !all_kept || budget.threads <= enough) return counts;
  counts.threads = enough;
  counts.reason += "; all samples are kept, more would be in each other's way";
  return counts;
}

}  // namespace penstock
