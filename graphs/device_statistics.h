// The figures of one output on several devices, as those of one run.
#pragma once

#include "absl/types/span.h"
#include "penstock/scheduler/statistics.h"

namespace penstock {

// Counts, bytes and rates are sums, and so are `startup_seconds` (devices start one after the
// other) and the time that consumers have waited. `seconds` and `first_batch_seconds` are those of
// the slowest device; `cpu_seconds`, which is the process's, is the largest. Fractions are means,
// weighted by the bytes uploaded. Stages of one name and place are one line, whose p50 and p95 are
// the slowest device's. `device` lists the names ("cuda:0,cuda:1"), and the verdict is one on all
// of them together. Of one device it is what is given; of none, empty.
RunStatistics SumOverDevices(absl::Span<const RunStatistics> devices);

}  // namespace penstock
