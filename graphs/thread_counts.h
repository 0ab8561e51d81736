// How many threads a pipeline has.
#pragma once

#include <string>

#include "penstock/scheduler/cpu_budget.h"

namespace penstock {

struct ThreadCounts {
  int threads = 1;     // That work on samples.
  std::string reason;  // Of `threads`.
  int io_threads = 1;
};

// `asked` and `asked_io`: PipelineOptions' threads and io_threads. `all_kept`: batches of all
// outputs are nothing but launches.
ThreadCounts ChooseThreads(int asked, int asked_io, bool all_kept, const CpuBudget& budget);

}  // namespace penstock
