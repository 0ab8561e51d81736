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

// A consumer's own copy waits for what is queued before it: two pieces of 16 MiB are 0.6 ms. One
// would leave the engine idle between pieces.
constexpr size_t kMaxPieces = 2;

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

// Pieces of one size, none larger than asked: a short one at the end would leave too little time to
// queue the next.
size_t EvenPiece(size_t bytes, size_t most) {
  const size_t pieces = (bytes + most - 1) / most;
  return std::min(most, AlignUp((bytes + pieces - 1) / pieces, kSlabAlignment));
}

// A failed device will never finish it; the next call reports the error.
bool HasPassed(const Event& event) {
  const absl::StatusOr<bool> passed = event.Done();
  return !passed.ok() || *passed;
}

}  // namespace

bool DeviceQueue::Waits(const Piece& piece) {
  return piece.behind != nullptr && !HasPassed(*piece.behind);
}

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

bool DeviceQueue::TakeJob() {
  if (current_ != nullptr) return true;
  if (!has_jobs_) return false;
  {
    const bool one_waits =
        std::any_of(in_flight_.begin(), in_flight_.end(), [](const Piece& p) { return Waits(p); });
    const auto lock = SpinLock(mutex_);
    auto lowest = jobs_.end();
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
      if (lowest != jobs_.end() && lowest->order < job->order) continue;
      if (IsFirstOfStream(*job) && MayTake(*job, one_waits)) lowest = job;
    }
    jobs_held_ = lowest == jobs_.end() && !jobs_.empty();
    if (lowest == jobs_.end()) return false;
    current_ = std::make_unique<UploadJob>(std::move(*lowest));
    jobs_.erase(lowest);
    has_jobs_ = !jobs_.empty();
  }
  range_ = offset_ = 0;
  if (absl::Status status = current_->before(); !status.ok()) FinishJob(std::move(status));
  return current_ != nullptr;
}

std::shared_ptr<Event> DeviceQueue::WorkIn(StreamRef stream) const {
  for (const LongWork& work : working_) {
    if (work.stream == stream && !HasPassed(*work.ready)) return work.ready;
  }
  return nullptr;
}

// A copy behind long work of its stream keeps a place in the queue all that time: there may be one
// such piece, so that the engine has something to do when the work ends, and one place is left for
// the other streams.
bool DeviceQueue::MayTake(const UploadJob& job, bool one_waits) const {
  if (WorkIn(job.stream) == nullptr) return true;
  size_t bytes = 0;
  for (const CopyRange& copy : job.copies) bytes += copy.bytes;
  return bytes <= static_cast<size_t>(job.piece_bytes) && !one_waits;
}

// Of jobs that wait for one stream, none goes before an earlier one: a batch that goes up again
// would wait for all that came after it.
bool DeviceQueue::IsFirstOfStream(const UploadJob& job) const {
  return std::none_of(jobs_.begin(), jobs_.end(), [&job](const UploadJob& other) {
    return other.stream == job.stream && other.order < job.order;
  });
}

bool DeviceQueue::IssuePiece() {
  if (range_ == current_->copies.size()) {
    FinishJob(current_->after());
    return true;
  }
  if (in_flight_.size() >= kMaxPieces) return false;
  const absl::Status status = [&]() -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(CopyPiece());
    PENSTOCK_ASSIGN_OR_RETURN(std::shared_ptr<Event> event, device_->AcquireEvent());
    PENSTOCK_RETURN_IF_ERROR(event->Record(current_->stream));
    in_flight_.push_back({std::move(event), WorkIn(current_->stream)});
    return absl::OkStatus();
  }();
  if (!status.ok()) FinishJob(status);
  return true;
}

// A part of a range; or its end, with the small ones that follow it.
absl::Status DeviceQueue::CopyPiece() {
  const auto most = static_cast<size_t>(current_->piece_bytes);
  size_t issued = 0;
  do {
    const CopyRange& copy = current_->copies[range_];
    const size_t bytes = std::min(copy.bytes - offset_, EvenPiece(copy.bytes, most));
    PENSTOCK_RETURN_IF_ERROR(
        device_->CopyToDevice(copy.to + offset_, copy.from + offset_, bytes, current_->stream));
    issued += bytes;
    offset_ += bytes;
    if (offset_ < copy.bytes) break;
    ++range_;
    offset_ = 0;
  } while (range_ < current_->copies.size() && issued + current_->copies[range_].bytes <= most);
  return absl::OkStatus();
}

void DeviceQueue::FinishJob(absl::Status status) {
  const std::unique_ptr<UploadJob> job = std::move(current_);
  job->done(std::move(status));
  if (job->ready == nullptr) return;
  std::erase_if(working_, [&job](const LongWork& work) { return work.stream == job->stream; });
  working_.push_back({job->stream, job->ready});
}

// Of different streams, the later one may pass first.
bool DeviceQueue::RetirePieces() {
  return std::erase_if(in_flight_, [](const Piece& p) { return HasPassed(*p.event); }) > 0;
}

bool DeviceQueue::CopyRuns() const {
  return std::any_of(in_flight_.begin(), in_flight_.end(),
                     [](const Piece& p) { return !Waits(p); });
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
