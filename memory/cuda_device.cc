#include "penstock/memory/cuda_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/cuda_event.h"
#include "penstock/memory/cuda_spin.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/host_memory.h"
#include "penstock/memory/libcuda.h"
#include "penstock/memory/memory_limits.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

class CudaStream final : public Stream {
 public:
  CudaStream(std::shared_ptr<CudaDevice> device, cudaStream_t stream)
      : device_(std::move(device)), stream_(stream) {}
  ~CudaStream() override {
    // Destroying it would not wait, and what the work uses may go next.
    (void)device_->Synchronize(stream_);
    const CudaScope scope = device_->Enter();
    if (scope.status().ok()) (void)CudaStatus(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }
  StreamRef ref() const override { return stream_; }

 private:
  const std::shared_ptr<CudaDevice> device_;
  const cudaStream_t stream_;
};

// Initialises the runtime on a device and returns the device's primary context. On a thread of its
// own, since cudaSetDevice() changes the calling thread's current device for good.
absl::StatusOr<CUctx_st*> PrimaryContext(int ordinal, const CudaContext& driver) {
  CUctx_st* context = nullptr;
  absl::Status status;
  const auto initialise = [&] {
    int capture_mode = kRelaxedCapture;
    (void)driver.exchange_capture_mode(&capture_mode);
    status = CudaStatus(cudaSetDevice(ordinal), "cudaSetDevice");
    if (status.ok()) status = CudaStatus(cudaFree(nullptr), "cudaFree");  // Makes the context.
    if (status.ok()) (void)driver.get_current(&context);
  };
  try {
    std::thread(initialise).join();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("a thread to start CUDA: ", error.what()));
  }
  PENSTOCK_RETURN_IF_ERROR(status);
  if (context == nullptr) return absl::InternalError("the CUDA runtime made no context");
  return context;
}

absl::StatusOr<CudaContext> OpenContext(int ordinal) {
  PENSTOCK_ASSIGN_OR_RETURN(const Libcuda driver, Libcuda::Open());
  PENSTOCK_RETURN_IF_ERROR(driver.CountDevices().status());
  CudaContext context;
  context.get_current = driver.Find<int(CUctx_st**)>("cuCtxGetCurrent");
  context.push = driver.Find<int(CUctx_st*)>("cuCtxPushCurrent_v2");
  context.pop = driver.Find<int(CUctx_st**)>("cuCtxPopCurrent_v2");
  context.exchange_capture_mode = driver.Find<int(int*)>("cuThreadExchangeStreamCaptureMode");
  context.query_event = driver.Find<int(CUevent_st*)>("cuEventQuery");
  if (context.get_current == nullptr || context.push == nullptr || context.pop == nullptr ||
      context.exchange_capture_mode == nullptr || context.query_event == nullptr) {
    return absl::FailedPreconditionError("the CUDA driver is too old: it lacks a call");
  }
  PENSTOCK_ASSIGN_OR_RETURN(context.context, PrimaryContext(ordinal, context));
  return context;
}

// The CPUs on the NUMA node of a device, or none if the kernel does not say.
std::vector<int> NearCpus(int ordinal) {
  char bus_id[32] = "";
  if (!CudaStatus(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, ordinal), "").ok()) return {};
  std::ifstream file(
      absl::StrCat("/sys/bus/pci/devices/", absl::AsciiStrToLower(bus_id), "/local_cpulist"));
  std::string list;
  std::getline(file, list);
  return ParseCpuList(list);
}

absl::Status Copy(const CudaDevice& device, std::byte* to, const std::byte* from, size_t bytes,
                  StreamRef stream, cudaMemcpyKind kind, absl::string_view call) {
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  const CudaScope scope = device.Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(cudaMemcpyAsync(to, from, bytes, kind, handle), call);
}

}  // namespace

CudaDevice::CudaDevice(int ordinal, const CudaContext& context, std::vector<int> near_cpus)
    : ordinal_(ordinal), context_(context), near_cpus_(std::move(near_cpus)) {}
CudaDevice::~CudaDevice() = default;

absl::StatusOr<std::shared_ptr<CudaDevice>> CudaDevice::Create(int ordinal) {
  PENSTOCK_ASSIGN_OR_RETURN(const CudaContext context, OpenContext(ordinal));
  const CudaScope scope(context);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return std::shared_ptr<CudaDevice>(new CudaDevice(ordinal, context, NearCpus(ordinal)));
}

std::string CudaDevice::name() const { return absl::StrCat("cuda:", ordinal_); }

absl::StatusOr<std::unique_ptr<Stream>> CudaDevice::CreateStream() {
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  // The consumer's kernels shall go before ours. Greater numbers are lower priorities.
  int lowest = 0, highest = 0;
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaDeviceGetStreamPriorityRange(&lowest, &highest),
                                      "cudaDeviceGetStreamPriorityRange"));
  cudaStream_t stream = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, lowest),
                 "cudaStreamCreateWithPriority"));
  ++driver_allocations_;
  return std::make_unique<CudaStream>(shared_from_this(), stream);
}

template <class T, class Factory>
absl::StatusOr<std::shared_ptr<T>> CudaDevice::Acquire(FreeList<T>& pool, Factory create) {
  std::unique_ptr<T> event = pool.TryTake();
  if (event == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(event, create(context_));
    ++driver_allocations_;
  }
  return std::shared_ptr<T>(event.release(), [device = shared_from_this(), &pool](T* used) {
    used->Reset();
    pool.Give(std::unique_ptr<T>(used));
  });
}

absl::StatusOr<std::shared_ptr<Event>> CudaDevice::AcquireEvent() {
  return Acquire(events_, CudaEvent::Create);
}

absl::StatusOr<std::shared_ptr<TimingEvent>> CudaDevice::AcquireTimingEvent() {
  return Acquire(timing_events_, CudaTimingEvent::Create);
}

absl::Status CudaDevice::Pin(std::byte* data, size_t bytes) {
  // Only a false is stored: two slabs at once must not undo each other's verdict.
  const TouchOptions touch = {.cpus = near_cpus_, .huge_pages = huge_pages_};
  if (!TouchHostMemory(data, bytes, touch)) huge_pages_ = false;
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  const cudaError_t error = cudaHostRegister(data, bytes, cudaHostRegisterPortable);
  absl::Status status = CudaStatus(error, "cudaHostRegister");
  if (error == cudaErrorMemoryAllocation || error == cudaErrorOperatingSystem) {
    return OutOfMemory(Name(HostMemory::kPinned), bytes, pinned_bytes_, status.message());
  }
  return status;
}

void CudaDevice::Unpin(std::byte* data, size_t bytes) {
  const CudaScope scope = Enter();
  if (scope.status().ok()) (void)CudaStatus(cudaHostUnregister(data), "cudaHostUnregister");
  pinned_bytes_ -= bytes;
}

absl::StatusOr<Buffer> CudaDevice::RegisterHost(std::byte* data, size_t bytes) {
  if (bytes == 0) return Buffer();
  PENSTOCK_RETURN_IF_ERROR(CheckPageStart(data));
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  ++driver_allocations_;
  cudaError_t error = cudaHostRegister(data, bytes, cudaHostRegisterPortable);
  absl::Status status = CudaStatus(error, "cudaHostRegister");
  if (error == cudaErrorInvalidValue || error == cudaErrorOperatingSystem) {
    // What is mapped read-only can only be page-locked as such.
    error = cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterReadOnly);
    const absl::Status read_only = CudaStatus(error, "cudaHostRegister");
    if (read_only.ok()) status = absl::OkStatus();
  }
  if (error == cudaErrorMemoryAllocation) {
    return OutOfMemory(Name(HostMemory::kPinned), bytes, pinned_bytes_, status.message());
  }
  if (!status.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("page-locking ", bytes, " bytes where they lie: ", status.message()));
  }
  pinned_bytes_ += bytes;
  return Buffer(data, bytes, [device = shared_from_this(), bytes](std::byte* used) {
    device->Unpin(used, bytes);
  });
}

// Before a page is touched: where the kernel promises more memory than there is, it kills who takes
// it.
absl::Status CudaDevice::CheckFits(size_t bytes, HostMemory kind) const {
  const MemoryLimits limits = ReadMemoryLimits();
  const MemoryLimit* const nearest = limits.nearest();
  if (nearest == nullptr || bytes <= static_cast<size_t>(nearest->bytes)) return absl::OkStatus();
  return OutOfMemory(
      Name(kind), bytes, pinned_bytes_,
      absl::StrCat("this process can have ", nearest->bytes, " more: ", nearest->origin));
}

absl::StatusOr<Buffer> CudaDevice::AllocateHost(size_t bytes, HostMemory kind) {
  if (bytes == 0) return Buffer();
  ++driver_allocations_;
  const bool pinned = kind == HostMemory::kPinned;
  std::atomic<size_t>& held = pinned ? pinned_bytes_ : pageable_bytes_;
  const absl::StatusOr<std::byte*> data = MapHostMemory(bytes);
  if (!data.ok()) return OutOfMemory(Name(kind), bytes, held, data.status().message());
  absl::Status status = pinned ? CheckFits(bytes, kind) : absl::OkStatus();
  if (status.ok() && pinned) status = Pin(*data, bytes);
  if (!status.ok()) {
    UnmapHostMemory(*data, bytes);
    return status;
  }
  held += bytes;
  return Buffer(*data, bytes, [device = shared_from_this(), bytes, pinned](std::byte* used) {
    if (pinned) device->Unpin(used, bytes);
    if (!pinned) device->pageable_bytes_ -= bytes;
    UnmapHostMemory(used, bytes);
  });
}

absl::StatusOr<Buffer> CudaDevice::AllocateDevice(size_t bytes) {
  if (bytes == 0) return Buffer();
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  ++driver_allocations_;
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  const absl::Status status = CudaStatus(error, "cudaMalloc");
  if (error == cudaErrorMemoryAllocation) {
    return OutOfMemory("device memory", bytes, device_bytes_, status.message());
  }
  PENSTOCK_RETURN_IF_ERROR(status);
  device_bytes_ += bytes;
  return Buffer(static_cast<std::byte*>(data), bytes,
                [device = shared_from_this(), bytes](std::byte* used) {
                  const CudaScope scope = device->Enter();
                  if (scope.status().ok()) (void)CudaStatus(cudaFree(used), "cudaFree");
                  device->device_bytes_ -= bytes;
                });
}

absl::Status CudaDevice::CopyToDevice(std::byte* to, const std::byte* from, size_t bytes,
                                      StreamRef stream) {
  return Copy(*this, to, from, bytes, stream, cudaMemcpyHostToDevice,
              "cudaMemcpyAsync to the device");
}

absl::Status CudaDevice::CopyToHost(std::byte* to, const std::byte* from, size_t bytes,
                                    StreamRef stream) {
  return Copy(*this, to, from, bytes, stream, cudaMemcpyDeviceToHost,
              "cudaMemcpyAsync to the host");
}

absl::Status CudaDevice::CopyOnDevice(std::byte* to, const std::byte* from, size_t bytes,
                                      StreamRef stream) {
  return Copy(*this, to, from, bytes, stream, cudaMemcpyDeviceToDevice,
              "cudaMemcpyAsync on the device");
}

absl::Status CudaDevice::Occupy(StreamRef stream, absl::Duration duration) {
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(std::max(duration, absl::ZeroDuration()));
  return CudaStatus(LaunchSpin(handle, static_cast<uint64_t>(nanoseconds)), "cudaLaunchKernel");
}

uint64_t CudaDevice::stream_id(StreamRef stream) const {
  // The default streams are several: one a context or thread.
  if (stream.kind() != DeviceKind::kCuda || stream.is_default()) return 0;
  const CudaScope scope = Enter();
  if (!scope.status().ok()) return 0;
  unsigned long long id = 0;  // NOLINT(google-runtime-int): as CUDA has it.
  const cudaError_t error = cudaStreamGetId(static_cast<cudaStream_t>(stream.handle()), &id);
  return CudaStatus(error, "cudaStreamGetId").ok() ? id + 1 : 0;
}

int64_t CudaDevice::free_bytes() const {
  const CudaScope scope = Enter();
  size_t free = 0, all = 0;
  if (!scope.status().ok() || !CudaStatus(cudaMemGetInfo(&free, &all), "cudaMemGetInfo").ok()) {
    return 0;
  }
  return static_cast<int64_t>(free);
}

absl::Status CudaDevice::Synchronize(StreamRef stream) {
  // By an event: cudaStreamSynchronize() may spin.
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Event> event, AcquireEvent());
  if (event->Record(stream).ok()) return event->Wait();
  // A stream of another device takes no event of this one's.
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  const CudaScope scope = Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(cudaStreamSynchronize(handle), "cudaStreamSynchronize");
}

}  // namespace penstock
