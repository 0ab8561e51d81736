// BatchWork: everything about one batch while it is on its way.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/scheduler/batch_sequence.h"
#include "penstock/scheduler/encoded_cache.h"
#include "penstock/stages/sample_chain.h"

namespace penstock {

// A copy that is to be made.
struct CopyRange {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  size_t bytes = 0;
};

// Adds `copy`; if it goes on where the last one ends, as a part of that.
inline void AppendCopy(const CopyRange& copy, std::vector<CopyRange>& copies) {
  if (!copies.empty()) {
    CopyRange& last = copies.back();
    if (last.to + last.bytes == copy.to && last.from + last.bytes == copy.from) {
      last.bytes += copy.bytes;
      return;
    }
  }
  copies.push_back(copy);
}

struct RowWork {
  Sample sample;
  Resolved resolved;
  Extent extent;
  int64_t bytes = 0;             // Of the extent.
  std::byte* place = nullptr;    // Where it is read to; null for bytes that are in memory.
  bool in_encoded_part = false;  // `place` lies in the slab.
  bool finished = true;          // Goes up finished (else encoded).
  bool settled = false;          // See HostSteps::Settle().
  bool kept = false;             // In the cache: nothing is read.
  const EncodedCache::Entry* entry = nullptr;  // In a cache of encoded samples, likewise.
  bool refused = false;                        // By the device's decoder.
  // Of a row that is to go up encoded, but must be done on the host: its bytes are not there. It is
  // repaired, with the damaged ones.
  bool deferred = false;
  std::optional<std::vector<std::byte>> read_again;  // What it is then done from.
  // Where in the slab the source's row goes: one that is to be gathered, or that lies finished in
  // its file.
  std::byte* slot = nullptr;
};

// Rows that an arena holds together.
struct Wave {
  int rows = 0;
  size_t scratch_at = 0;  // Where in the arena the steps' scratch begins.
};

// What one batch runs on the device: its rows of either kind, cut into waves.
struct Waves {
  std::vector<int32_t> encoded, finished;
  std::vector<Wave> of_encoded, of_finished;  // In the order of the rows.
};

// Rows are worked on by one thread each; what is not by row is touched by the thread that admits,
// forwards or delivers the batch, or is atomic. Kept by seat, so that its memory is used again.
struct BatchWork {
  int64_t generation = 0, slot = 0;  // Of delivery.
  BatchSpec spec;
  std::vector<int64_t> ids;  // By row, once they are located.
  Seat* seat = nullptr;
  int stream = 0;
  std::vector<RowWork> rows;           // At least count().
  std::vector<std::byte> host_params;  // Of links without a table, by link, then row.
  size_t encoded_used = 0;             // Bytes of the slab's encoded part.
  std::atomic<int> remaining{0};       // Chunks of the phase that runs.
  std::atomic<int64_t> slab_writes{0}, scratch_writes{0};
  Waves waves;
  std::vector<std::pair<std::string, TensorView>> tensors;  // That will be delivered.
  std::shared_ptr<Event> ready_event;  // Recorded behind the batch's last device work.
  std::vector<int32_t> filling;        // Rows that will be kept on the device,
  std::vector<CopyRange> fills;        // and the copies to there.
  std::vector<int32_t> to_repair;      // Rows, once the device has reported.
  std::function<void()> end_upload;    // Of the flow, while rows are repaired.
  std::shared_ptr<BatchTiming> timing;

  int count() const { return static_cast<int>(spec.count()); }

  // Keeps the failure of the lowest row. Thread-safe.
  void Fail(int row, absl::Status status) {
    const std::lock_guard lock(failure_mutex_);
    if (failed_.load(std::memory_order_relaxed) && row >= failed_row_) return;
    failed_row_ = row;
    failure_ = std::move(status);
    failed_.store(true, std::memory_order_release);
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Only once no thread works on it any more.
  const absl::Status& failure() const { return failure_; }

  void Start(const BatchSpec& next) {
    spec = next;
    ids.resize(count());
    encoded_used = 0;
    slab_writes = 0;
    scratch_writes = 0;
    failed_ = false;
    failure_ = absl::OkStatus();
    ready_event = nullptr;
    timing = nullptr;
    filling.clear();
    fills.clear();
    to_repair.clear();
  }

 private:
  std::mutex failure_mutex_;
  std::atomic<bool> failed_{false};
  int failed_row_ = 0;
  absl::Status failure_;
};

// What travels through the flow graph. TBB keeps copies of messages past the last node, so they own
// nothing: `work` is moved out by whoever delivers the batch.
struct Envelope {
  std::unique_ptr<BatchWork> work;
  std::shared_ptr<void> hold;  // Of the flow, for a batch that is not in its nodes all the way.
};
using EnvelopePtr = std::shared_ptr<Envelope>;

// Rows [begin, end) of a batch.
struct Chunk {
  EnvelopePtr envelope;
  int begin = 0, end = 0;
  absl::Time ready;  // When its bytes were there.
};

// Fails the work with what `node` said of the sample in `row`, whose id is known. Thread-safe.
void FailSample(const ExecutionPlan& plan, const std::string& node, int row,
                const absl::Status& status, BatchWork& work);

// How many chunks of `chunk_rows` rows make `rows`.
inline int Chunks(int rows, int chunk_rows) { return (rows + chunk_rows - 1) / chunk_rows; }

}  // namespace penstock
