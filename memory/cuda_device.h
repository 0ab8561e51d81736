// CudaDevice: a Device on the CUDA runtime. Needs no CUDA header.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/cuda_scope.h"
#include "penstock/memory/device.h"
#include "penstock/memory/free_list.h"

namespace penstock {

class CudaEvent;
class CudaTimingEvent;

// Works in the device's primary context, as the runtime and PyTorch do, and leaves the caller's
// current device, context and last error as they were. May be destroyed after the CUDA runtime has
// shut down.
//
// Pinned memory: mapped in exact sizes, on huge pages where they are fast, touched by many threads
// on the device's NUMA node, then page-locked for all devices. Each allocation is page-locked as a
// whole, since no copy may cross from one page-locked range to the next. Pageable memory is mapped
// and no more.
class CudaDevice final : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  // `ordinal` counts the visible devices from 0. Initialises CUDA on it, which may take a second.
  // Errors: FailedPrecondition where there is no driver, or no such or no usable device.
  static absl::StatusOr<std::shared_ptr<CudaDevice>> Create(int ordinal);
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string name() const override;
  DLDevice dl_device() const override { return {kDLCUDA, ordinal_}; }
  absl::StatusOr<std::unique_ptr<Stream>> CreateStream() override;
  absl::StatusOr<std::shared_ptr<Event>> AcquireEvent() override;
  absl::StatusOr<std::shared_ptr<TimingEvent>> AcquireTimingEvent() override;
  absl::StatusOr<Buffer> AllocateHost(size_t bytes, HostMemory kind) override;
  absl::StatusOr<Buffer> AllocateDevice(size_t bytes) override;
  absl::StatusOr<Buffer> RegisterHost(std::byte* data, size_t bytes) override;
  absl::Status CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                            StreamRef stream) override;
  absl::Status CopyToHost(std::byte* to, const std::byte* from, size_t bytes,
                          StreamRef stream) override;
  absl::Status CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                            StreamRef stream) override;
  absl::Status Occupy(StreamRef stream, absl::Duration duration) override;
  uint64_t stream_id(StreamRef stream) const override;
  int64_t free_bytes() const override;
  // As /sys/bus/pci/devices/<bus id>/local_cpulist has them.
  std::vector<int> near_cpus() const override { return near_cpus_; }
  absl::Status Synchronize(StreamRef stream) override;
  int64_t driver_allocations() const override { return driver_allocations_; }

  // Makes this device the calling thread's until the scope ends; check its status(). For launching
  // kernels. The device must outlive it.
  CudaScope Enter() const { return CudaScope(context_); }

 private:
  CudaDevice(int ordinal, const CudaContext& context, std::vector<int> near_cpus);
  template <class T, class Factory>
  absl::StatusOr<std::shared_ptr<T>> Acquire(FreeList<T>& pool, Factory create);
  absl::Status Pin(std::byte* data, size_t bytes);
  absl::Status CheckFits(size_t bytes, HostMemory kind) const;
  void Unpin(std::byte* data, size_t bytes);

  const int ordinal_;
  const CudaContext context_;
  const std::vector<int> near_cpus_;
  std::atomic<bool> huge_pages_ = true;  // Until they turn out to be slow.
  std::atomic<int64_t> driver_allocations_ = 0;
  std::atomic<size_t> pinned_bytes_ = 0, pageable_bytes_ = 0, device_bytes_ = 0;  // Held.
  FreeList<CudaEvent> events_;
  FreeList<CudaTimingEvent> timing_events_;
};

}  // namespace penstock
