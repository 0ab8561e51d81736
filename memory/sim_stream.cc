#include "penstock/memory/sim_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "penstock/memory/check.h"

namespace penstock {

SimTime SimNow() { return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()); }

void SimSleepUntil(SimTime time) {
  const std::chrono::steady_clock::time_point until(absl::ToChronoNanoseconds(time));
  if (until > std::chrono::steady_clock::now()) std::this_thread::sleep_until(until);
}

void SimMark::Pass(SimTime time) {
  // Under the lock: a waiter may drop the last reference as soon as it can return.
  std::lock_guard lock(mutex_);
  time_ = time;
  passed_.notify_all();
}

SimTime SimMark::Wait() const {
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [this] { return time_.has_value(); });
  return *time_;
}

std::optional<SimTime> SimMark::time() const {
  std::lock_guard lock(mutex_);
  return time_;
}

SimTime SimEngine::Reserve(SimTime ready, absl::Duration duration) {
  std::lock_guard lock(mutex_);
  last_end_ = std::max(ready, last_end_) + duration;
  return last_end_;
}

SimStream::SimStream(std::shared_ptr<const Device> device, uint64_t id)
    : device_(std::move(device)), id_(id), thread_([this] { Run(); }) {}

SimStream::~SimStream() {
  PENSTOCK_CHECK(std::this_thread::get_id() != thread_.get_id(),
                 "a SimDevice's stream was destroyed by work in itself");
  Push(nullptr);
  thread_.join();
}

void SimStream::Push(Operation operation) {
  std::lock_guard lock(mutex_);
  items_.push_back({SimNow(), std::move(operation)});
  pushed_.notify_one();
}

void SimStream::Run() {
  SimTime end = -absl::InfiniteDuration();
  for (;;) {
    std::unique_lock lock(mutex_);
    pushed_.wait(lock, [this] { return !items_.empty(); });
    const Item item = std::move(items_.front());
    items_.pop_front();
    lock.unlock();
    if (!item.run) return;
    end = item.run(std::max(end, item.submitted));
  }
}

}  // namespace penstock
