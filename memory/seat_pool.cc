#include "penstock/memory/seat_pool.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "penstock/memory/check.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr size_t kWorthAsking = 4;

}  // namespace

SeatPool::SeatPool(std::shared_ptr<Device> device, const SlabLayout& layout, SeatSlabs slabs)
    : device_(std::move(device)),
      layout_(layout),
      memory_(slabs.memory),
      refused_(std::move(slabs.refused)),
      host_time_(slabs.host_time),
      slabs_(std::move(slabs.buffers)),
      seats_(slabs.host.size()),
      held_(seats_.size()) {
  for (size_t i = 0; i < seats_.size(); ++i) {
    seats_[i].index = static_cast<int>(i);
    seats_[i].host = slabs.host[i];
    seats_[i].device = slabs.device[i];
  }
  for (size_t i = seats_.size(); i-- > 0;) free_.push_back(&seats_[i]);  // Seat 0 goes first.
}

absl::StatusOr<std::shared_ptr<SeatPool>> SeatPool::Create(std::shared_ptr<Device> device,
                                                           const SlabLayout& layout, int seats,
                                                           HostMemory memory) {
  SeatPoolOptions options;
  options.slabs.layout = layout;
  options.slabs.seats = seats;
  options.slabs.memory = memory;
  return Create(std::move(device), std::move(options));
}

absl::StatusOr<std::shared_ptr<SeatPool>> SeatPool::Create(std::shared_ptr<Device> device,
                                                           SeatPoolOptions options) {
  const SlabOptions& wanted = options.slabs;
  PENSTOCK_CHECK(wanted.seats >= 1, "a SeatPool needs a seat");
  PENSTOCK_ASSIGN_OR_RETURN(SeatSlabs slabs, AllocateSlabs(*device, wanted));
  std::shared_ptr<SeatPool> pool(new SeatPool(device, wanted.layout, std::move(slabs)));
  if (options.check_leases) {
    PENSTOCK_ASSIGN_OR_RETURN(pool->lease_check_,
                              LeaseCheck::Create(std::move(device), wanted.layout, wanted.seats,
                                                 std::move(options.node)));
  }
  return pool;
}

SeatPool::~SeatPool() {
  for (const bool held : held_) {
    PENSTOCK_CHECK(!held, "a SeatPool ended while one of its seats was held");
  }
  const auto wait = [](const Returning& returning) {
    // An error means that the work will never run.
    for (const std::shared_ptr<Event>& event : returning.busy) (void)event->Wait();
  };
  std::for_each(returning_.begin(), returning_.end(), wait);
  std::for_each(returned_.begin(), returned_.end(), wait);
}

Seat* SeatPool::TryAcquire() {
  const auto lock = SpinLock(mutex_);
  if (free_.empty()) return nullptr;
  Seat* const seat = free_.back();
  free_.pop_back();
  held_[static_cast<size_t>(seat->index)] = true;
  return seat;
}

void SeatPool::Return(Seat* seat, std::vector<std::shared_ptr<Event>> busy, Lease lease) {
  Run(HandIn({seat, std::move(busy), std::move(lease)}));
}

absl::Status SeatPool::ReturnBehind(Seat* seat, StreamRef stream, Lease lease) {
  PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Event> event, device_->AcquireEvent());
  const uint64_t id = device_->stream_id(stream);
  std::vector<std::shared_ptr<Event>> busy;
  busy.push_back(event);
  Hook hook;
  {
    const auto lock = SpinLock(order_mutex_);
    PENSTOCK_RETURN_IF_ERROR(event->Record(stream));
    hook = HandIn({seat, std::move(busy), std::move(lease), id});
  }
  Run(hook);
  return absl::OkStatus();
}

SeatPool::Hook SeatPool::HandIn(Returning returning) {
  Seat* const seat = returning.seat;
  const auto index = static_cast<size_t>(seat->index);
  PENSTOCK_CHECK(index < seats_.size() && seat == &seats_[index], "a seat of another SeatPool");
  const auto lock = SpinLock(mutex_);
  PENSTOCK_CHECK(held_[index], "a seat was returned twice");
  held_[index] = false;
  returned_.push_back(std::move(returning));
  ++unfree_;
  if (hook_ != nullptr) ++hooks_running_;
  return hook_;
}

void SeatPool::Run(const Hook& hook) {
  if (hook == nullptr) return;
  (*hook)();
  const auto lock = SpinLock(mutex_);
  if (--hooks_running_ == 0) hook_ended_.notify_all();
}

// Passed events are dropped at once, so that none is asked twice.
bool SeatPool::Passed(Returning& returning, absl::Status& first_error) {
  std::erase_if(returning.busy, [&first_error](const std::shared_ptr<Event>& event) {
    const absl::StatusOr<bool> done = event->Done();
    if (!done.ok()) first_error.Update(done.status());
    return !done.ok() || *done;
  });
  return returning.busy.empty();
}

// Where the seats end that have passed, of those from `begin` on that came back behind one stream,
// one directly after the other. The last of some is asked first: it answers for all.
SeatPool::Iterator SeatPool::EndOfPassedRun(const Iterator& begin, const Iterator& end,
                                            absl::Status& first_error) {
  constexpr ptrdiff_t kMostAtOnce = 8;
  Iterator last = begin;
  while (begin->stream_id != 0 && std::next(last) != end && last - begin + 1 < kMostAtOnce &&
         std::next(last)->stream_id == begin->stream_id) {
    ++last;
  }
  if (last != begin && Passed(*last, first_error)) return std::next(last);
  return Passed(*begin, first_error) ? std::next(begin) : begin;
}

std::vector<SeatPool::Returning> SeatPool::TakePassed(bool look_at_all, absl::Status& first_error) {
  std::vector<Returning> taken;
  Iterator kept_end = returning_.begin(), at = kept_end;
  while (at != returning_.end()) {
    const Iterator passed = EndOfPassedRun(at, returning_.end(), first_error);
    if (passed != at) {
      std::move(at, passed, std::back_inserter(taken));
      at = passed;
      continue;
    }
    if (!look_at_all) break;
    if (kept_end != at) *kept_end = std::move(*at);
    ++kept_end;
    ++at;
  }
  returning_.erase(kept_end, at);
  return taken;
}

absl::StatusOr<int> SeatPool::Collect(bool look_at_all) {
  const std::lock_guard collect_lock(collect_mutex_);
  {
    const auto lock = SpinLock(mutex_);
    std::move(returned_.begin(), returned_.end(), std::back_inserter(returning_));
    returned_.clear();
    if (returning_.empty()) return 0;
    // Of few, most are busy: asking them is in vain, and to ask takes time.
    const size_t worth_asking = std::min<size_t>(kWorthAsking, (seats_.size() + 3) / 4);
    if (!look_at_all && returning_.size() < worth_asking) return unfree_;
  }
  absl::Status first_error;
  std::vector<Returning> taken = TakePassed(look_at_all, first_error);
  if (lease_check_ != nullptr) {
    for (Returning& returning : taken) {
      first_error.Update(lease_check_->Poison(*returning.seat, std::move(returning.lease)));
    }
  }
  const auto lock = SpinLock(mutex_);
  for (const Returning& returning : taken) free_.push_back(returning.seat);
  collected_ += static_cast<int64_t>(taken.size());
  unfree_ -= static_cast<int>(taken.size());
  if (!first_error.ok()) return first_error;
  return unfree_;
}

absl::Status SeatPool::CheckLease(const Seat& seat) {
  return lease_check_ == nullptr ? absl::OkStatus() : lease_check_->Verify(seat);
}

void SeatPool::SetOnReturn(std::function<void()> hook) {
  std::unique_lock lock(mutex_);
  hook_ = hook ? std::make_shared<const std::function<void()>>(std::move(hook)) : nullptr;
  hook_ended_.wait(lock, [this] { return hooks_running_ == 0; });
}

SeatPool::Counts SeatPool::counts() const {
  const auto lock = SpinLock(mutex_);
  Counts counts;
  counts.free = static_cast<int>(free_.size());
  counts.returning = unfree_;
  counts.collected = collected_;
  counts.held = seats() - counts.free - counts.returning;
  return counts;
}

}  // namespace penstock
