// RunCounters: what the steps of one output count while it runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/scheduler/statistics.h"

namespace penstock {

// Thread-safe; written with relaxed order, read for snapshots.
struct RunCounters {
  StepCounter read, host, batch_steps, upload;
  std::atomic<int64_t> bytes_read{0}, bytes_uploaded{0}, bytes_gathered{0};
  std::atomic<int64_t> slab_writes{0}, scratch_writes{0};
  std::atomic<int64_t> staging_growths{0};
  std::atomic<int64_t> decoded_host{0}, decoded_device{0}, repaired{0};
  std::atomic<int64_t> cache_hits{0};
};

}  // namespace penstock
