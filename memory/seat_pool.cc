#include "penstock/memory/seat_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/check.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

SeatPool::SeatPool(std::shared_ptr<Device> device, const SlabLayout& layout, HostMemory memory)
    : device_(std::move(device)), layout_(layout), memory_(memory) {}

absl::StatusOr<std::shared_ptr<SeatPool>> SeatPool::Create(std::shared_ptr<Device> device,
                                                           const SlabLayout& layout, int seats,
                                                           HostMemory memory) {
  PENSTOCK_CHECK(seats >= 1, "a SeatPool needs a seat");
  std::shared_ptr<SeatPool> pool(new SeatPool(std::move(device), layout, memory));
  PENSTOCK_RETURN_IF_ERROR(pool->Allocate(seats));
  return pool;
}

absl::Status SeatPool::Allocate(int seats) {
  seats_.resize(static_cast<size_t>(seats));
  held_.resize(seats_.size());
  for (Seat& seat : seats_) {
    seat.index = static_cast<int>(&seat - seats_.data());
    absl::StatusOr<Buffer> host = device_->AllocateHost(layout_.host_bytes(), memory_);
    absl::StatusOr<Buffer> device = absl::UnknownError("not asked for");
    if (host.ok()) device = device_->AllocateDevice(layout_.device_bytes());
    if (!host.ok() || !device.ok()) {
      return Prefixed(absl::StrCat("seat ", seat.index + 1, " of ", seats),
                      host.ok() ? device.status() : host.status());
    }
    seat.host = host->data();
    seat.device = device->data();
    slabs_.push_back(*std::move(host));
    slabs_.push_back(*std::move(device));
  }
  for (size_t i = seats_.size(); i-- > 0;) free_.push_back(&seats_[i]);  // Seat 0 goes first.
  return absl::OkStatus();
}

SeatPool::~SeatPool() {
  for (const bool held : held_) {
    PENSTOCK_CHECK(!held, "a SeatPool ended while one of its seats was held");
  }
  for (const Returning& returning : returning_) {
    // An error means that the work will never run.
    for (const std::shared_ptr<Event>& event : returning.busy) (void)event->Wait();
  }
}

Seat* SeatPool::TryAcquire() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  Seat* const seat = free_.back();
  free_.pop_back();
  held_[static_cast<size_t>(seat->index)] = true;
  return seat;
}

void SeatPool::Return(Seat* seat, std::vector<std::shared_ptr<Event>> busy) {
  const auto index = static_cast<size_t>(seat->index);
  PENSTOCK_CHECK(index < seats_.size() && seat == &seats_[index], "a seat of another SeatPool");
  std::shared_ptr<const std::function<void()>> hook;
  {
    std::lock_guard lock(mutex_);
    PENSTOCK_CHECK(held_[index], "a seat was returned twice");
    held_[index] = false;
    returning_.push_back({seat, std::move(busy)});
    hook = hook_;
    if (hook != nullptr) ++hooks_running_;
  }
  if (hook == nullptr) return;
  (*hook)();
  std::lock_guard lock(mutex_);
  if (--hooks_running_ == 0) hook_ended_.notify_all();
}

absl::StatusOr<int> SeatPool::Collect() {
  absl::Status first_error;
  // Passed events are dropped at once, so that none is asked twice.
  const auto passed = [&first_error](const std::shared_ptr<Event>& event) {
    const absl::StatusOr<bool> done = event->Done();
    if (!done.ok()) first_error.Update(done.status());
    return !done.ok() || *done;
  };
  std::lock_guard lock(mutex_);
  std::erase_if(returning_, [&](Returning& returning) {
    std::erase_if(returning.busy, passed);
    if (!returning.busy.empty()) return false;
    free_.push_back(returning.seat);
    ++collected_;
    return true;
  });
  if (!first_error.ok()) return first_error;
  return static_cast<int>(returning_.size());
}

void SeatPool::SetOnReturn(std::function<void()> hook) {
  std::unique_lock lock(mutex_);
  hook_ = hook ? std::make_shared<const std::function<void()>>(std::move(hook)) : nullptr;
  hook_ended_.wait(lock, [this] { return hooks_running_ == 0; });
}

SeatPool::Counts SeatPool::counts() const {
  std::lock_guard lock(mutex_);
  Counts counts;
  counts.free = static_cast<int>(free_.size());
  counts.returning = static_cast<int>(returning_.size());
  counts.collected = collected_;
  counts.held = seats() - counts.free - counts.returning;
  return counts;
}

}  // namespace penstock
