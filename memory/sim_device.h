// SimDevice: a device on the CPU that runs closures in stream order. For tests and CI
// (`--device=sim`, with a model of time), for consumers on the CPU (`--device=host`, without one),
// and as the reference that kernels are tested against.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/device.h"
#include "penstock/memory/free_list.h"
#include "penstock/memory/sim_stream.h"

namespace penstock {

struct SimOptions {
  std::string name = "sim";
  // 10^9 bytes a second of each of the two copy engines (one a direction, shared by all streams).
  // 0: no time is modelled, and timing events give the time that really passed.
  double gb_per_s = 0;
  // Added to each copy's time, while the engine is held. Unused if gb_per_s is 0.
  absl::Duration copy_latency = absl::ZeroDuration();
  std::vector<int> near_cpus = {};  // See Device::near_cpus().
  // Injected faults; each hook may be empty. Called with the bytes asked (never 0) and the number
  // of the call (1, 2, ...), maybe by several threads at once; RegisterHost() counts as an
  // allocation on the host. An error fails that call alone,
  // which then does nothing; see SimDevice::Fail() for a device that has failed.
  std::function<absl::Status(size_t bytes, int64_t call)> fail_host_allocation = {};
  std::function<absl::Status(size_t bytes, int64_t call)> fail_device_allocation = {};
  std::function<absl::Status(size_t bytes, int64_t call)> fail_copy = {};
};

// Streams run on threads of their own. Time is modelled by absolute deadlines: an operation starts
// at the later of its stream's and its engine's last deadline and the moment when it was submitted,
// and the thread sleeps until its end; so errors of sleeping do not add up. A copy moves its bytes
// at the end of its time, so that who reads too early sees old bytes. Kernels, marks and waits take
// no time of themselves; Occupy() takes its duration, also where no other time is modelled. Timing
// events read the modelled time, however late the machine is.
//
// An asynchronous failure is sticky, as on CUDA: Fail() makes every later call return it; what has
// not begun in the streams is dropped, and who waits wakes up.
class SimDevice final : public Device, public std::enable_shared_from_this<SimDevice> {
 public:
  static std::shared_ptr<SimDevice> Create(SimOptions options = {});
  ~SimDevice() override;

  DeviceKind kind() const override { return DeviceKind::kSim; }
  std::string name() const override { return options_.name; }
  DLDevice dl_device() const override { return {kDLCPU, 0}; }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override;
  absl::StatusOr<std::shared_ptr<Event>> AcquireEvent() override;
  absl::StatusOr<std::shared_ptr<TimingEvent>> AcquireTimingEvent() override;
  absl::StatusOr<Buffer> AllocateHost(size_t bytes, HostMemory kind) override;
  absl::StatusOr<Buffer> AllocateDevice(size_t bytes) override;
  // Refuses what overlaps a range that is registered already, as CUDA does.
  absl::StatusOr<Buffer> RegisterHost(std::byte* data, size_t bytes) override;
  absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                            StreamRef stream) override;
  absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes,
                          StreamRef stream) override;
  // Takes no modelled time.
  absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                            StreamRef stream) override;
  absl::Status Occupy(StreamRef stream, absl::Duration duration) override;
  uint64_t stream_id(StreamRef stream) const override;
  std::vector<int> near_cpus() const override { return options_.near_cpus; }
  absl::Status Synchronize(StreamRef stream) override;
  int64_t driver_allocations() const override { return driver_allocations_; }

  // A kernel is a closure. On a default stream it runs at once, on the calling thread.
  absl::Status Launch(StreamRef stream, std::function<void()> kernel);
  // From within a kernel: the device has failed. The first call counts; OK is no failure.
  void Fail(absl::Status status);
  // OK, or the sticky error.
  absl::Status status() const;

 private:
  class OrderingEvent;
  class StampEvent;

  explicit SimDevice(SimOptions options);
  // Puts `operation` into `stream`, or runs it at once where that is the calling thread.
  absl::Status Submit(StreamRef stream, SimStream::Operation operation);
  // The same for what a failed device no longer does.
  absl::Status SubmitWork(StreamRef stream, SimStream::Operation operation);
  // Submits a mark that is passed when all earlier work is done.
  absl::StatusOr<std::shared_ptr<SimMark>> SubmitMark(StreamRef stream);
  absl::Status Copy(SimEngine& engine, std::byte* to, const std::byte* from, size_t bytes,
                    StreamRef stream);
  std::atomic<size_t>& held(HostMemory kind) {
    return kind == HostMemory::kPinned ? pinned_bytes_ : pageable_bytes_;
  }
  // When work ended that should have by `modelled`.
  SimTime Ended(SimTime modelled) const;
  template <class T>
  std::shared_ptr<T> Acquire(FreeList<T>& pool);

  const SimOptions options_;
  SimEngine to_device_, to_host_;
  std::atomic<uint64_t> streams_{0};  // Created so far.
  std::atomic<int64_t> driver_allocations_ = 0;
  std::atomic<int64_t> host_calls_ = 0, device_calls_ = 0, copy_calls_ = 0;  // Of the fault hooks.
  std::atomic<size_t> pinned_bytes_ = 0, pageable_bytes_ = 0, device_bytes_ = 0;  // Held.
  std::mutex registered_mutex_;
  std::map<std::byte*, size_t> registered_;  // Bytes by where they start.
  std::atomic<bool> failed_ = false;
  mutable std::mutex status_mutex_;
  absl::Status status_;
  FreeList<OrderingEvent> events_;
  FreeList<StampEvent> timing_events_;
};

}  // namespace penstock
