// What a run was measured to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "penstock/scheduler/histogram.h"

namespace penstock {

// Work of one step: counted by the threads that do it. Thread-safe, lock-free.
class StepCounter {
 public:
  // `items` things took `busy` together, after having waited `wait` for a thread or an engine.
  void Add(absl::Duration busy, absl::Duration wait, int64_t items = 1) {
    const int64_t ns = absl::ToInt64Nanoseconds(busy);
    busy_ns_.fetch_add(ns, std::memory_order_relaxed);
    wait_ns_.fetch_add(absl::ToInt64Nanoseconds(wait), std::memory_order_relaxed);
    items_.fetch_add(items, std::memory_order_relaxed);
    if (items > 0) histogram_.Add(ns / items, items);
  }
  double busy_s() const { return static_cast<double>(busy_ns_.load()) * 1e-9; }
  double wait_s() const { return static_cast<double>(wait_ns_.load()) * 1e-9; }
  int64_t items() const { return items_; }
  absl::Duration Quantile(double fraction) const { return histogram_.Quantile(fraction); }

 private:
  std::atomic<int64_t> busy_ns_{0}, wait_ns_{0}, items_{0};
  Histogram histogram_;
};

// One line of the table of stages.
struct StageStatistics {
  std::string name;               // A run of stages: "decode_image+center_crop".
  std::string place;              // "io", "host", "copy", "device", "consumer".
  double busy_s = 0;              // Summed over threads.
  double wait_s = 0;              // Summed over items: ready, but no thread or engine free.
  double p50_us = 0, p95_us = 0;  // Of one item.
  int64_t items = 0;              // Done: of a batch that fails, those before its end.
  // Of its threads or engines, how much was in use, 0 to 1.
  double utilisation = 0;
};

struct EpochStatistics {
  int64_t epoch = 0, batches = 0, samples = 0;
  double seconds = 0;
};

// What limits a run.
enum class Limit : uint8_t { kNone, kRead, kHost, kUpload, kDevice, kConsumer };

// A snapshot; every figure is since the start. Names are those of --stats_json.
struct RunStatistics {
  std::string graph, device;
  int64_t rank = 0, world = 1;
  int64_t samples = 0, batches = 0;  // Delivered.
  double seconds = 0;                // First admission to last release (or now).
  double samples_per_second = 0;     // Without the first batch.
  double first_batch_seconds = 0, startup_seconds = 0, next_wait_seconds = 0, cpu_seconds = 0;
  double pinning_seconds = 0;  // Part of startup_seconds: to touch and page-lock the host's slabs.
  // Of the thread that talks to the device: at work, and looking for work without sleeping.
  double queue_busy_seconds = 0, queue_polling_seconds = 0;
  int64_t bytes_read = 0, bytes_uploaded = 0;
  // Rows that kernels took over the link from where a Cache keeps them page-locked (PINNED), in
  // place of a copy. Each counts whole, though a crop takes a part of it.
  int64_t bytes_gathered = 0;
  double upload_gb_per_s = 0;  // While a copy was running.
  double overlap_fraction = 0;
  // Of timed batches that follow each other: the part of the time in which a copy ran, and the time
  // between two copies.
  double copy_utilisation = 0, copy_gap_p95_us = 0, copy_gap_longest_us = 0;
  // While batches are delivered: the stage by which a Cache was filled is given back before.
  int64_t pinned_bytes_peak = 0, device_bytes_peak = 0;
  int64_t driver_allocations_after_warmup = 0;
  double host_writes_per_byte = 0, scratch_bytes_per_byte = 0;
  // Each image is counted once: on the side that made its pixels, when it has. `images_repaired`:
  // of those decoded on the host, the ones that the device found damaged.
  int64_t images_decoded_host = 0, images_decoded_device = 0, images_repaired = 0, skipped = 0;
  int64_t cache_hits = 0;  // Encoded samples that a Cache gave, so that nothing was read.
  Limit limit = Limit::kNone;
  std::string verdict;
  std::vector<EpochStatistics> epochs;
  std::vector<StageStatistics> stages;
  // Of this moment, for a progress line.
  int seats = 0, seats_waiting = 0;  // Waiting: ready and not taken yet.
};

// "none", "read", "host", "upload", "device", "consumer".
const char* Name(Limit limit);

// The closing judgement: sets `limit` and `verdict` from the stages' utilisation and the consumer's
// wait.
void Judge(RunStatistics& statistics);

}  // namespace penstock
