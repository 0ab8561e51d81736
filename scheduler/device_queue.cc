// Its thread, and what it looks for; the copies are in device_queue_copies.cc.
#include "penstock/scheduler/device_queue.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/start_thread.h"

namespace penstock {
namespace {

// How long to sleep between two looks at pending events: short while a copy is running (a piece
// takes some 300 us), longer the longer nothing happens (a consumer's step takes many
// milliseconds).
constexpr auto kShortSleep = std::chrono::microseconds(20);
constexpr auto kLongSleep = std::chrono::microseconds(500);
// A batch that waits for what the device reports of it is not delivered before.
constexpr auto kAwaitSleep = std::chrono::microseconds(100);

// Work that takes microseconds a batch follows at once or not for long: a sleep, and being woken,
// would take longer than the work.
constexpr uint64_t kTimerSlackNs = 1000;
constexpr auto kLookFor = std::chrono::microseconds(50);

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceQueue>> DeviceQueue::Create(std::shared_ptr<Device> device) {
  std::shared_ptr<DeviceQueue> queue(new DeviceQueue(std::move(device)));
  PENSTOCK_RETURN_IF_ERROR(StartThread(queue->thread_, "the thread of " + queue->device()->name(),
                                       [q = queue.get()] { q->Run(); }));
  return queue;
}

DeviceQueue::~DeviceQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DeviceQueue::Submit(UploadJob job) {
  {
    const auto lock = SpinLock(mutex_);
    jobs_.push_back(std::move(job));
    has_jobs_ = true;
    jobs_held_ = false;
  }
  changed_.notify_all();
}

void DeviceQueue::Await(std::shared_ptr<Event> event,
                        std::function<void(absl::Status status)> then) {
  {
    const auto lock = SpinLock(mutex_);
    new_awaited_.push_back({std::move(event), std::move(then)});
    has_awaited_ = true;
  }
  Wake();
}

void DeviceQueue::Watch(std::shared_ptr<SeatPool> pool, std::function<void()> on_free,
                        std::function<bool()> on_work) {
  const std::lock_guard lock(watched_mutex_);
  pool->SetOnReturn([this] { Wake(); });
  watched_.push_back({std::move(pool), std::move(on_free), std::move(on_work)});
}

void DeviceQueue::Unwatch(const SeatPool* pool) {
  const std::lock_guard lock(watched_mutex_);
  const auto found = std::find_if(watched_.begin(), watched_.end(),
                                  [&](const Watched& w) { return w.pool.get() == pool; });
  if (found == watched_.end()) return;
  found->pool->SetOnReturn(nullptr);
  watched_.erase(found);
}

// Either this sees that the thread is asleep, or the thread, which says so first, sees woken_.
void DeviceQueue::Wake() {
  woken_ = true;
  if (!asleep_) return;
  {
    const std::lock_guard lock(mutex_);
  }  // It has gone to sleep by then, or has seen it.
  changed_.notify_all();
}

void DeviceQueue::CallForWork() {
  has_work_ = true;
  Wake();
}

DeviceQueue::Times DeviceQueue::times() const {
  return {static_cast<double>(busy_ns_) * 1e-9, static_cast<double>(polling_ns_) * 1e-9};
}

void DeviceQueue::Run() {
  using Clock = std::chrono::steady_clock;
  // Else a sleep of 20 us takes 70.
  (void)prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
  std::chrono::microseconds sleep = kShortSleep;
  Clock::time_point now = Clock::now(), worked = now;
  const auto add_time = [&now](std::atomic<int64_t>& to) {
    const Clock::time_point before = std::exchange(now, Clock::now());
    to += std::chrono::nanoseconds(now - before).count();
  };
  for (bool look_at_all = false;;) {
    bool seats_pending = false;
    if (Work(look_at_all, seats_pending)) {
      add_time(busy_ns_);
      worked = now;
      sleep = kShortSleep;
      look_at_all = false;
      continue;
    }
    add_time(polling_ns_);
    // A piece takes some 300 us: no need to look for its end all the time.
    if (in_flight_.empty() && now - worked < kLookFor) continue;
    if (!std::exchange(look_at_all, true)) continue;  // No seat is overlooked for long.
    if (!Sleep(seats_pending, sleep)) return;
    now = Clock::now();
  }
}

bool DeviceQueue::Work(bool look_at_all, bool& seats_pending) {
  bool any = RetirePieces();
  any = RetireAwaited() || any;
  any = DoWork() || any;
  any = CollectSeats(look_at_all, seats_pending) || any;
  while (TakeJob() && IssuePiece()) any = true;
  return any;
}

bool DeviceQueue::Sleep(bool seats_pending, std::chrono::microseconds& duration) {
  std::unique_lock lock(mutex_);
  asleep_ = true;
  const auto ready = [this] { return woken_ || (!jobs_.empty() && !jobs_held_); };
  const bool busy = current_ != nullptr || CopyRuns();
  const bool awaiting = !awaited_.empty() || !in_flight_.empty() || jobs_held_;
  if (busy || seats_pending || awaiting) {
    changed_.wait_for(lock, busy ? kShortSleep : duration, [&] { return !busy && ready(); });
    const std::chrono::microseconds longest = awaiting ? kAwaitSleep : kLongSleep;
    duration = std::min(duration * 2, longest);
  } else {
    changed_.wait(lock, [&] { return stopping_ || ready(); });
    if (stopping_ && !ready()) return false;
  }
  asleep_ = false;
  woken_ = false;
  return true;
}

bool DeviceQueue::DoWork() {
  if (!has_work_.exchange(false)) return false;
  const std::lock_guard lock(watched_mutex_);
  bool any = false;
  for (const Watched& watched : watched_) {
    any = (watched.on_work != nullptr && watched.on_work()) || any;
  }
  return any;
}

bool DeviceQueue::RetireAwaited() {
  if (has_awaited_) {
    const auto lock = SpinLock(mutex_);
    std::move(new_awaited_.begin(), new_awaited_.end(), std::back_inserter(awaited_));
    new_awaited_.clear();
    has_awaited_ = false;
  }
  std::vector<std::pair<Awaited, absl::Status>> passed;
  std::erase_if(awaited_, [&passed](Awaited& awaited) {
    const absl::StatusOr<bool> done = awaited.event->Done();
    if (done.ok() && !*done) return false;
    passed.emplace_back(std::move(awaited), done.status());
    return true;
  });
  // They may have more to await.
  for (auto& [awaited, status] : passed) awaited.then(std::move(status));
  return !passed.empty();
}

bool DeviceQueue::CollectSeats(bool look_at_all, bool& pending) {
  const std::lock_guard lock(watched_mutex_);
  bool any = false;
  for (Watched& watched : watched_) {
    const absl::StatusOr<int> returning = watched.pool->Collect(look_at_all);
    pending = pending || (returning.ok() && *returning > 0);
    const int64_t collected = watched.pool->counts().collected;
    if (collected == std::exchange(watched.collected, collected)) continue;
    watched.on_free();
    any = true;
  }
  return any;
}

}  // namespace penstock
