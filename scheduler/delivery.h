// Delivery: brings batches back into order and hands them to the consumer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "penstock/memory/batch.h"

namespace penstock {

// Thread-safe. Slots are numbered by admission, without gaps: a batch, an epoch's end or the run's
// end each. Every slot that was handed out is put exactly once, with an error if need be.
class Delivery {
 public:
  struct Item {
    absl::StatusOr<std::optional<DeviceBatch>> value;  // nullopt: an epoch's end.
    bool run_end = false;
  };

  // `on_wait(waited, timed_out)` is asked, without a lock, once a Next() has waited for a second or
  // has run out of time; its text (if any) goes into that error.
  explicit Delivery(std::function<std::string(absl::Duration waited, bool timed_out)> on_wait);

  struct Slot {
    int64_t generation = 0, slot = 0;
    Item item;
  };
  void Put(int64_t generation, int64_t slot, Item item);
  // Takes the items of several.
  void Put(absl::Span<Slot> slots);
  // Drops everything that is not delivered yet; slots count from 0 in the new generation.
  void StartGeneration(int64_t generation);
  // From now on Next() gives CANCELLED, and what comes in is dropped.
  void Cancel();

  // The next item in order. Errors and the run's end are given for ever; DeadlineExceeded is not.
  absl::StatusOr<std::optional<DeviceBatch>> Next(absl::Duration timeout);

  // Batches that wait here for the consumer, in order or not.
  int64_t waiting() const;
  // Time that consumers have spent in Next().
  absl::Duration waited() const;

 private:
  // Looks out for a moment for anything that may have come; without the lock.
  void LookOut(std::unique_lock<std::mutex>& lock);
  bool Ready() const { return cancelled_ || final_ || items_.contains(next_); }
  absl::StatusOr<std::optional<DeviceBatch>> Take();

  const std::function<std::string(absl::Duration, bool)> on_wait_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int64_t> changes_{0};
  std::map<int64_t, Item> items_;
  int64_t generation_ = 0, next_ = 0;
  bool cancelled_ = false;
  bool final_ = false;  // The run has ended, well or not.
  absl::Status final_error_;
  absl::Duration waited_;
};

}  // namespace penstock
