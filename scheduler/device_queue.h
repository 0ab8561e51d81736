// DeviceQueue: the one thread that talks to a device while a run goes on. It issues copies in batch
// order and in pieces, at most two at a time, launches what follows them, and finds out which
// events have passed (so that seats come back). It looks for work for a moment after it had some,
// then sleeps, for good when nothing is pending.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/device.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/scheduler/device_steps.h"

namespace penstock {

// One batch's way onto the device. All callbacks run on the queue's thread, in the order written
// here.
struct UploadJob {
  int64_t order = 0;  // Jobs that wait are taken lowest first.
  StreamRef stream = StreamRef::LegacyDefault();
  int64_t piece_bytes = 0;
  std::vector<CopyRange> copies;
  // Recorded by `done`: what `after` launched runs until it has passed, for so long that copies in
  // this stream shall not hold back those of others. Null: it is short.
  std::shared_ptr<Event> ready;
  std::function<absl::Status()> before;           // Before the first copy is issued.
  std::function<absl::Status()> after;            // When the last one has been issued.
  std::function<void(absl::Status status)> done;  // Always, once; with the first error.
};

class DeviceQueue {
 public:
  // ResourceExhausted: its thread cannot be started.
  static absl::StatusOr<std::shared_ptr<DeviceQueue>> Create(std::shared_ptr<Device> device);
  // Finishes what was submitted, then joins.
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  // Thread-safe; never blocks on the device.
  void Submit(UploadJob job);
  // Calls `then` on the queue's thread once the event has passed, with OK or the device's error; it
  // does not block. Thread-safe.
  void Await(std::shared_ptr<Event> event, std::function<void(absl::Status status)> then);
  // Collects the pool's seats as their events pass, and then calls `on_free`; and `on_work` after
  // CallForWork(), which gives whether it found any. Until Unwatch(), which returns only when no
  // call is running.
  void Watch(std::shared_ptr<SeatPool> pool, std::function<void()> on_free,
             std::function<bool()> on_work = nullptr);
  void Unwatch(const SeatPool* pool);
  // There may be something to collect. Thread-safe.
  void Wake();
  // There may be work for somebody's `on_work`. Thread-safe.
  void CallForWork();

  const std::shared_ptr<Device>& device() const { return device_; }

  // What the thread has spent on work, and on looking for it without sleeping.
  struct Times {
    double busy_s = 0, polling_s = 0;
  };
  Times times() const;

 private:
  struct Watched {
    std::shared_ptr<SeatPool> pool;
    std::function<void()> on_free;
    std::function<bool()> on_work;
    int64_t collected = 0;  // Seats that on_free has been told of.
  };
  struct Awaited {
    std::shared_ptr<Event> event;
    std::function<void(absl::Status status)> then;
  };
  struct Piece {
    std::shared_ptr<Event> event;
    std::shared_ptr<Event> behind;  // Long work that its stream does first; null: none.
  };
  // The last long work of a stream.
  struct LongWork {
    StreamRef stream;
    std::shared_ptr<Event> ready;
  };

  explicit DeviceQueue(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  void Run();
  bool Work(bool look_at_all, bool& seats_pending);                     // True if there was any.
  bool Sleep(bool seats_pending, std::chrono::microseconds& duration);  // False to end.
  bool DoWork();                                                        // True if there was any.
  bool TakeJob();  // True if there is a current one.
  bool MayTake(const UploadJob& job, bool one_waits) const;
  bool IsFirstOfStream(const UploadJob& job) const;  // Under mutex_.
  std::shared_ptr<Event> WorkIn(StreamRef stream) const;
  bool IssuePiece();  // True if something was issued.
  absl::Status CopyPiece();
  void FinishJob(absl::Status status);
  bool RetirePieces();                                 // True if one has passed.
  bool RetireAwaited();                                // The same.
  static bool Waits(const Piece& piece);               // Its stream has long work to do before.
  bool CopyRuns() const;                               // Or will at once.
  bool CollectSeats(bool look_at_all, bool& pending);  // True if a seat became free.

  const std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<UploadJob> jobs_;
  bool jobs_held_ = false;  // There are jobs, but none to take before something has passed.
  std::vector<Awaited> new_awaited_;
  bool stopping_ = false;
  std::atomic<bool> woken_{false}, asleep_{false};
  std::atomic<bool> has_jobs_{false}, has_work_{false}, has_awaited_{false};
  std::atomic<int64_t> busy_ns_{0}, polling_ns_{0};

  std::mutex watched_mutex_;  // Held while on_free runs.
  std::vector<Watched> watched_;

  // Of the thread alone.
  std::unique_ptr<UploadJob> current_;
  size_t range_ = 0, offset_ = 0;  // In current_->copies.
  std::vector<LongWork> working_;  // One a stream.
  std::deque<Piece> in_flight_;
  std::vector<Awaited> awaited_;
  std::thread thread_;
};

}  // namespace penstock
