#include "penstock/memory/sim_device.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/host_memory.h"
#include "penstock/memory/slab.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// Fresh device memory has no known contents; this makes a wrong guess visible.
constexpr int kFreshDeviceByte = 0xa5;

absl::Status NeverRecorded() {
  return absl::FailedPreconditionError("a timing event that was never recorded has no time");
}

}  // namespace

// The device outlives its events: whoever has one holds the device, and the pool is the device's.
class SimDevice::OrderingEvent final : public Event {
 public:
  explicit OrderingEvent(SimDevice& device) : device_(device) {}
  void Reset() { mark_ = nullptr; }

  absl::Status Record(StreamRef stream) override {
    PENSTOCK_ASSIGN_OR_RETURN(mark_, device_.SubmitMark(stream));
    return absl::OkStatus();
  }
  absl::Status Block(StreamRef stream) override {
    if (mark_ == nullptr) return device_.status();
    return device_.Submit(stream,
                          [mark = mark_](SimTime ready) { return std::max(ready, mark->Wait()); });
  }
  absl::StatusOr<bool> Done() const override {
    PENSTOCK_RETURN_IF_ERROR(device_.status());
    return mark_ == nullptr || mark_->time().has_value();
  }
  absl::Status Wait() const override {
    if (mark_ != nullptr) mark_->Wait();
    return device_.status();
  }

 private:
  SimDevice& device_;
  std::shared_ptr<SimMark> mark_;  // Null: never recorded.
};

class SimDevice::StampEvent final : public TimingEvent {
 public:
  explicit StampEvent(SimDevice& device) : device_(device) {}
  void Reset() { mark_ = nullptr; }

  absl::Status Record(StreamRef stream) override {
    PENSTOCK_ASSIGN_OR_RETURN(mark_, device_.SubmitMark(stream));
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Done() const override {
    PENSTOCK_RETURN_IF_ERROR(device_.status());
    return mark_ == nullptr || mark_->time().has_value();
  }
  absl::StatusOr<absl::Duration> Since(const TimingEvent& start) const override {
    PENSTOCK_RETURN_IF_ERROR(device_.status());
    const auto* first = dynamic_cast<const StampEvent*>(&start);
    if (first == nullptr || &first->device_ != &device_) {
      return absl::FailedPreconditionError("the timing events are of different devices");
    }
    if (mark_ == nullptr || first->mark_ == nullptr) return NeverRecorded();
    const auto from = first->mark_->time(), to = mark_->time();
    if (!from || !to) return absl::FailedPreconditionError("a timing event is not done yet");
    return *to - *from;
  }

 private:
  SimDevice& device_;
  std::shared_ptr<SimMark> mark_;
};

SimDevice::SimDevice(SimOptions options) : options_(std::move(options)) {}
SimDevice::~SimDevice() = default;

std::shared_ptr<SimDevice> SimDevice::Create(SimOptions options) {
  return std::shared_ptr<SimDevice>(new SimDevice(std::move(options)));
}

uint64_t SimDevice::stream_id(StreamRef stream) const {
  if (stream.kind() != DeviceKind::kSim) return 0;
  const auto* const of_ours = static_cast<const SimStream*>(stream.handle());
  return of_ours->device() == this ? of_ours->id() : 0;
}

absl::StatusOr<std::unique_ptr<Stream>> SimDevice::CreateStream() {
  PENSTOCK_RETURN_IF_ERROR(status());
  try {
    auto stream = std::make_unique<SimStream>(shared_from_this(), ++streams_);
    ++driver_allocations_;
    return stream;
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("a thread for a stream: ", error.what()));
  }
}

template <class T>
std::shared_ptr<T> SimDevice::Acquire(FreeList<T>& pool) {
  std::unique_ptr<T> event = pool.TryTake();
  if (event == nullptr) {
    event = std::make_unique<T>(*this);
    ++driver_allocations_;
  }
  return std::shared_ptr<T>(event.release(), [device = shared_from_this(), &pool](T* used) {
    used->Reset();
    pool.Give(std::unique_ptr<T>(used));
  });
}

absl::StatusOr<std::shared_ptr<Event>> SimDevice::AcquireEvent() {
  PENSTOCK_RETURN_IF_ERROR(status());
  return Acquire(events_);
}

absl::StatusOr<std::shared_ptr<TimingEvent>> SimDevice::AcquireTimingEvent() {
  PENSTOCK_RETURN_IF_ERROR(status());
  return Acquire(timing_events_);
}

absl::StatusOr<Buffer> SimDevice::AllocateHost(size_t bytes, HostMemory kind) {
  PENSTOCK_RETURN_IF_ERROR(status());
  if (bytes == 0) return Buffer();
  if (options_.fail_host_allocation) {
    PENSTOCK_RETURN_IF_ERROR(options_.fail_host_allocation(bytes, ++host_calls_));
  }
  ++driver_allocations_;
  absl::StatusOr<std::byte*> data = MapHostMemory(bytes);
  if (!data.ok()) return OutOfMemory(Name(kind), bytes, held(kind), data.status().message());
  held(kind) += bytes;
  return Buffer(*data, bytes, [device = shared_from_this(), bytes, kind](std::byte* mapped) {
    UnmapHostMemory(mapped, bytes);
    device->held(kind) -= bytes;
  });
}

absl::StatusOr<Buffer> SimDevice::RegisterHost(std::byte* data, size_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(status());
  if (bytes == 0) return Buffer();
  PENSTOCK_RETURN_IF_ERROR(CheckPageStart(data));
  if (options_.fail_host_allocation) {
    PENSTOCK_RETURN_IF_ERROR(options_.fail_host_allocation(bytes, ++host_calls_));
  }
  {
    const std::lock_guard lock(registered_mutex_);
    const auto behind = registered_.lower_bound(data + bytes);  // The first that starts behind it.
    if (behind != registered_.begin()) {
      const auto& [begin, size] = *std::prev(behind);
      if (begin + size > data) {
        return absl::FailedPreconditionError("this memory is page-locked already");
      }
    }
    registered_.emplace(data, bytes);
  }
  ++driver_allocations_;
  pinned_bytes_ += bytes;
  return Buffer(data, bytes, [device = shared_from_this(), bytes](std::byte* used) {
    const std::lock_guard lock(device->registered_mutex_);
    device->registered_.erase(used);
    device->pinned_bytes_ -= bytes;
  });
}

absl::StatusOr<Buffer> SimDevice::AllocateDevice(size_t bytes) {
  PENSTOCK_RETURN_IF_ERROR(status());
  if (bytes == 0) return Buffer();
  if (options_.fail_device_allocation) {
    PENSTOCK_RETURN_IF_ERROR(options_.fail_device_allocation(bytes, ++device_calls_));
  }
  ++driver_allocations_;
  // From the heap, so that a sanitizer sees who writes behind its end.
  void* const data = operator new(bytes, std::align_val_t{kSlabAlignment}, std::nothrow);
  if (data == nullptr) {
    return OutOfMemory("device memory", bytes, device_bytes_, "the host has no more");
  }
  std::memset(data, kFreshDeviceByte, bytes);
  device_bytes_ += bytes;
  return Buffer(static_cast<std::byte*>(data), bytes,
                [device = shared_from_this(), bytes](std::byte* used) {
                  operator delete(used, std::align_val_t{kSlabAlignment});
                  device->device_bytes_ -= bytes;
                });
}

absl::Status SimDevice::Submit(StreamRef stream, SimStream::Operation operation) {
  PENSTOCK_RETURN_IF_ERROR(status());
  if (stream.is_default()) {
    operation(SimNow());
    return status();
  }
  auto* const queue = static_cast<SimStream*>(stream.handle());
  if (stream.kind() != DeviceKind::kSim || queue->device() != this) {
    return absl::FailedPreconditionError(
        absl::StrCat("the stream is not one of the device ", options_.name));
  }
  queue->Push(std::move(operation));
  return absl::OkStatus();
}

absl::Status SimDevice::SubmitWork(StreamRef stream, SimStream::Operation operation) {
  return Submit(stream, [this, operation = std::move(operation)](SimTime ready) {
    return failed_ ? ready : operation(ready);
  });
}

absl::StatusOr<std::shared_ptr<SimMark>> SimDevice::SubmitMark(StreamRef stream) {
  auto mark = std::make_shared<SimMark>();
  PENSTOCK_RETURN_IF_ERROR(Submit(stream, [mark](SimTime ready) {
    mark->Pass(ready);
    return ready;
  }));
  return mark;
}

SimTime SimDevice::Ended(SimTime modelled) const {
  return options_.gb_per_s > 0 ? modelled : std::max(modelled, SimNow());
}

absl::Status SimDevice::Copy(SimEngine& engine, std::byte* to, const std::byte* from, size_t bytes,
                             StreamRef stream) {
  PENSTOCK_RETURN_IF_ERROR(status());
  if (bytes == 0) return absl::OkStatus();
  if (options_.fail_copy) PENSTOCK_RETURN_IF_ERROR(options_.fail_copy(bytes, ++copy_calls_));
  return SubmitWork(stream, [this, &engine, to, from, bytes](SimTime ready) {
    SimTime end = ready;
    if (options_.gb_per_s > 0) {  // A gigabyte a second is a byte a nanosecond.
      const auto moving = absl::Nanoseconds(static_cast<double>(bytes) / options_.gb_per_s);
      end = engine.Reserve(ready, options_.copy_latency + moving);
      SimSleepUntil(end);
    }
    std::memcpy(to, from, bytes);
    return Ended(end);
  });
}

absl::Status SimDevice::CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                                     StreamRef stream) {
  return Copy(to_device_, to, from, bytes, stream);
}

absl::Status SimDevice::CopyToHost(std::byte* to, const std::byte* from, size_t bytes,
                                   StreamRef stream) {
  return Copy(to_host_, to, from, bytes, stream);
}

absl::Status SimDevice::CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                                     StreamRef stream) {
  return Launch(stream, [to, from, bytes] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

absl::Status SimDevice::Occupy(StreamRef stream, absl::Duration duration) {
  return SubmitWork(stream, [this, duration](SimTime ready) {
    const SimTime end = ready + std::max(duration, absl::ZeroDuration());
    SimSleepUntil(end);
    return Ended(end);
  });
}

absl::Status SimDevice::Synchronize(StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(const auto mark, SubmitMark(stream));
  mark->Wait();
  return status();
}

absl::Status SimDevice::Launch(StreamRef stream, std::function<void()> kernel) {
  return SubmitWork(stream, [this, kernel = std::move(kernel)](SimTime ready) {
    kernel();
    return Ended(ready);
  });
}

void SimDevice::Fail(absl::Status status) {
  if (status.ok()) return;
  std::lock_guard lock(status_mutex_);
  if (status_.ok()) status_ = std::move(status);
  failed_ = true;
}

absl::Status SimDevice::status() const {
  if (!failed_) return absl::OkStatus();
  std::lock_guard lock(status_mutex_);
  return status_;
}

}  // namespace penstock
