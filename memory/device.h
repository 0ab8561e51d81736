// What a device can do, in stream order. CudaDevice and SimDevice implement it.
//
// Nothing here blocks but Wait(), Synchronize() and what allocates; nothing is submitted to a
// default stream unless the caller names one. Every call leaves the caller's current CUDA device as
// it was.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/stream.h"

namespace penstock {

// An ordering event (no timing). Comes from Device::AcquireEvent() and goes back to the device's
// pool when the last owner drops it. All but Record() may be called by several threads at once. An
// event that was never recorded is done.
class Event {
 public:
  virtual ~Event() = default;
  // Marks the work that is in `stream` now. Recording again replaces the mark.
  virtual absl::Status Record(StreamRef stream) = 0;
  // `stream` waits for the mark; the host does not (except for a host stream, see StreamRef).
  virtual absl::Status Block(StreamRef stream) = 0;
  // True once the marked work is done. An error is the device's: some earlier asynchronous work
  // failed.
  virtual absl::StatusOr<bool> Done() const = 0;
  // The host waits, sleeping.
  virtual absl::Status Wait() const = 0;
};

// An event with a time stamp, from Device::AcquireTimingEvent(); pooled apart. All but Record() may
// be called by several threads at once. An event that was never recorded is done, and has no time.
class TimingEvent {
 public:
  virtual ~TimingEvent() = default;
  virtual absl::Status Record(StreamRef stream) = 0;
  virtual absl::StatusOr<bool> Done() const = 0;
  // Time from `start` to this one; both must be recorded, done, and of one device, else
  // FailedPrecondition.
  virtual absl::StatusOr<absl::Duration> Since(const TimingEvent& start) const = 0;
};

// Owns a stream (non-blocking: it does not wait for the legacy default stream; of the device's
// lowest priority, which is also the default of streams made elsewhere). The destructor waits until
// its work is done.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual StreamRef ref() const = 0;
};

// The memory that a host slab is born in. Copies from kPageable are staged by the driver: they are
// slower (a tenth) and block the submitting thread.
enum class HostMemory : uint8_t { kPinned, kPageable };

// Thread-safe. Held by shared_ptr by all that was made from it.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  virtual std::string name() const = 0;    // "cuda:0", "sim", "host"
  virtual DLDevice dl_device() const = 0;  // Where tensors of this device live.

  virtual absl::StatusOr<std::unique_ptr<Stream>> CreateStream() = 0;
  virtual absl::StatusOr<std::shared_ptr<Event>> AcquireEvent() = 0;
  virtual absl::StatusOr<std::shared_ptr<TimingEvent>> AcquireTimingEvent() = 0;

  // For start-up only: both may take long, and driver_allocations() counts them. `bytes` is exact
  // (no rounding to powers of two); 0 gives an empty buffer without a driver call. The memory is
  // zeroed on the host and not on the device. Errors: ResourceExhausted, which says "host pinned
  // memory" or "device memory", the bytes asked and the bytes held so far. A buffer may outlive all
  // else that names the device.
  virtual absl::StatusOr<Buffer> AllocateHost(size_t bytes, HostMemory kind) = 0;
  virtual absl::StatusOr<Buffer> AllocateDevice(size_t bytes) = 0;

  // Page-locks memory that somebody else owns, read-only where it is mapped so, until the buffer
  // goes; the memory must live longer. For start-up only, as above. `data` starts a page.
  // FailedPrecondition: this memory cannot be page-locked (a mapped file on a disk, say).
  virtual absl::StatusOr<Buffer> RegisterHost(std::byte* data, size_t bytes) = 0;

  // Asynchronous, in stream order. Both ranges must stay valid until then. A stream that is not
  // this device's is FailedPrecondition here and below.
  virtual absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                                    StreamRef stream) = 0;
  virtual absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes,
                                  StreamRef stream) = 0;

  // The same within the device's memory; the ranges do not overlap.
  virtual absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                                    StreamRef stream) = 0;

  // Keeps `stream` busy for `duration` of device time: a stand-in for a consumer's work.
  virtual absl::Status Occupy(StreamRef stream, absl::Duration duration) = 0;

  // A number that no other stream of this process has or had; 0: unknown.
  virtual uint64_t stream_id(StreamRef stream) const {
    (void)stream;
    return 0;
  }

  // Device memory that nobody has taken; 0: unknown. A call to the driver, for start-up.
  virtual int64_t free_bytes() const { return 0; }

  // The CPUs on the device's NUMA node, by the kernel's numbers, in ascending order; empty:
  // unknown, or all are equally near. Whoever binds threads to them keeps to those that the process
  // may use (CpusToBind()).
  virtual std::vector<int> near_cpus() const { return {}; }

  // Waits until all work that was ever submitted to `stream` is done.
  virtual absl::Status Synchronize(StreamRef stream) = 0;

  // Calls to the driver so far that allocate (memory, streams, events): constant after warm-up.
  virtual int64_t driver_allocations() const = 0;
};

}  // namespace penstock
