#include "penstock/scheduler/delivery.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/memory/spin_lock.h"

namespace penstock {
namespace {

constexpr absl::Duration kLogAfter = absl::Seconds(1);
// Batches that take microseconds follow at once: sleeping, and being woken, would take longer.
constexpr auto kLookOut = std::chrono::microseconds(50);

}  // namespace

Delivery::Delivery(std::function<std::string(absl::Duration, bool)> on_wait)
    : on_wait_(std::move(on_wait)) {}

void Delivery::Put(int64_t generation, int64_t slot, Item item) {
  Slot one = {generation, slot, std::move(item)};
  Put(absl::MakeSpan(&one, 1));
}

// A dropped item stays with the caller: it releases its seat, which calls other code, after the
// lock.
void Delivery::Put(absl::Span<Slot> slots) {
  {
    const auto lock = SpinLock(mutex_);
    if (cancelled_ || final_) return;
    for (Slot& slot : slots) {
      if (slot.generation == generation_) items_.emplace(slot.slot, std::move(slot.item));
    }
    ++changes_;
  }
  changed_.notify_all();
}

void Delivery::StartGeneration(int64_t generation) {
  std::map<int64_t, Item> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(items_);
  generation_ = generation;
  next_ = 0;
  ++changes_;
  if (final_error_.ok()) final_ = false;
}

void Delivery::Cancel() {
  std::map<int64_t, Item> dropped;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    ++changes_;
    dropped.swap(items_);
  }
  changed_.notify_all();
}

absl::StatusOr<std::optional<DeviceBatch>> Delivery::Next(absl::Duration timeout) {
  const absl::Time start = absl::Now(), deadline = start + timeout;
  bool asked = false;
  std::unique_lock lock = SpinLock(mutex_);
  if (!Ready()) LookOut(lock);
  while (!Ready()) {
    const absl::Time until = asked ? deadline : std::min(deadline, start + kLogAfter);
    if (until == absl::InfiniteFuture()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_until(lock, absl::ToChronoTime(until));
    const absl::Time now = absl::Now();
    if (Ready() || now < until) continue;
    lock.unlock();
    const std::string why = on_wait_(now - start, now >= deadline);
    asked = true;
    lock.lock();
    if (now >= deadline && !Ready()) {
      waited_ += now - start;
      return absl::DeadlineExceededError(absl::StrCat(
          "no batch within ", absl::FormatDuration(timeout), why.empty() ? "" : ": ", why));
    }
  }
  waited_ += absl::Now() - start;
  return Take();
}

void Delivery::LookOut(std::unique_lock<std::mutex>& lock) {
  const auto until = std::chrono::steady_clock::now() + kLookOut;
  while (!Ready() && std::chrono::steady_clock::now() < until) {
    const int64_t seen = changes_;
    lock.unlock();
    while (changes_ == seen && std::chrono::steady_clock::now() < until) {
    }
    lock = SpinLock(mutex_);
  }
}

absl::StatusOr<std::optional<DeviceBatch>> Delivery::Take() {
  if (cancelled_) return absl::CancelledError("the pipeline was cancelled");
  if (final_) {
    if (!final_error_.ok()) return final_error_;
    return std::optional<DeviceBatch>();
  }
  auto node = items_.extract(next_++);
  Item& item = node.mapped();
  if (!item.value.ok() || item.run_end) {
    final_ = true;
    final_error_ = item.value.ok() ? absl::OkStatus() : item.value.status();
    ++changes_;
    changed_.notify_all();  // Every waiting caller gets the end.
  }
  return std::move(item.value);
}

int64_t Delivery::waiting() const {
  const std::lock_guard lock(mutex_);
  return std::count_if(items_.begin(), items_.end(), [](const auto& entry) {
    return entry.second.value.ok() && entry.second.value->has_value();
  });
}

absl::Duration Delivery::waited() const {
  const std::lock_guard lock(mutex_);
  return waited_;
}

}  // namespace penstock
