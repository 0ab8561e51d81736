// What SimDevice is made of: its clock, marks in streams, copy engines, and streams. For
// sim_device.cc.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "penstock/memory/device.h"
#include "penstock/memory/stream.h"

namespace penstock {

// A point in modelled time: time on the steady clock since its epoch.
using SimTime = absl::Duration;
SimTime SimNow();
// Returns at once if `time` is past.
void SimSleepUntil(SimTime time);

// A point in a stream that others wait for. Thread-safe.
class SimMark {
 public:
  void Pass(SimTime time);
  // Blocks until it has passed; returns when that was.
  SimTime Wait() const;
  // Empty until it has passed.
  std::optional<SimTime> time() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable passed_;
  std::optional<SimTime> time_;
};

// A copy engine: serves one copy at a time, in the order in which they start. Thread-safe.
class SimEngine {
 public:
  // Takes the engine for `duration`, not before `ready` nor before its last copy has ended. Returns
  // the end; does not sleep.
  SimTime Reserve(SimTime ready, absl::Duration duration);

 private:
  std::mutex mutex_;
  SimTime last_end_ = -absl::InfiniteDuration();
};

// Runs operations in order, on a thread of its own.
class SimStream final : public Stream {
 public:
  // Is told when it may start (the later of its submission and its predecessor's end) and returns
  // when it ended, both in modelled time.
  using Operation = std::function<SimTime(SimTime ready)>;

  // Throws std::system_error if there are no more threads. Keeps `device` alive.
  // `id`: as Device::stream_id().
  SimStream(std::shared_ptr<const Device> device, uint64_t id);
  // Waits for all operations. Not for use on the stream's own thread.
  ~SimStream() override;

  StreamRef ref() const override {
    return StreamRef(DeviceKind::kSim, const_cast<SimStream*>(this));
  }
  const Device* device() const { return device_.get(); }
  uint64_t id() const { return id_; }
  // Thread-safe.
  void Push(Operation operation);

 private:
  struct Item {
    SimTime submitted;
    Operation run;  // Empty: the end.
  };
  void Run();

  const std::shared_ptr<const Device> device_;
  const uint64_t id_;
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<Item> items_;
  std::thread thread_;
};

}  // namespace penstock
