#include "penstock/memory/cuda_event.h"

#include <utility>

#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

absl::StatusOr<cudaStream_t> CudaHandle(StreamRef stream) {
  if (stream.kind() != DeviceKind::kCuda) {
    return absl::FailedPreconditionError("the stream is not one of a CUDA device");
  }
  return static_cast<cudaStream_t>(stream.handle());
}

absl::StatusOr<CudaEventHandle> CudaEventHandle::Create(const CudaContext& context,
                                                        unsigned flags) {
  const CudaScope scope(context);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  cudaEvent_t event = nullptr;
  PENSTOCK_RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags"));
  return CudaEventHandle(context, event);
}

CudaEventHandle::CudaEventHandle(CudaEventHandle&& other) noexcept
    : context_(other.context_),
      event_(std::exchange(other.event_, nullptr)),
      recorded_(other.recorded_) {}

CudaEventHandle::~CudaEventHandle() {
  if (event_ == nullptr) return;
  const CudaScope scope(*context_);
  if (scope.status().ok()) (void)CudaStatus(cudaEventDestroy(event_), "cudaEventDestroy");
}

absl::Status CudaEventHandle::Record(StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  const CudaScope scope(*context_);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(event_, handle), "cudaEventRecord"));
  recorded_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> CudaEventHandle::Done() const {
  if (!recorded_) return true;
  const CudaScope scope(*context_);
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  // The driver and the runtime number their errors alike.
  const auto error = static_cast<cudaError_t>(context_->query_event(event_));
  if (error == cudaErrorNotReady) return false;
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(error, "cuEventQuery"));
  return true;
}

absl::StatusOr<std::unique_ptr<CudaEvent>> CudaEvent::Create(const CudaContext& context) {
  // Blocking: who waits sleeps instead of spinning.
  PENSTOCK_ASSIGN_OR_RETURN(
      auto handle,
      CudaEventHandle::Create(context, cudaEventDisableTiming | cudaEventBlockingSync));
  return std::make_unique<CudaEvent>(std::move(handle));
}

absl::Status CudaEvent::Block(StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  if (!handle_.recorded()) return absl::OkStatus();
  const CudaScope scope(handle_.context());
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(cudaStreamWaitEvent(handle, handle_.get(), 0), "cudaStreamWaitEvent");
}

absl::Status CudaEvent::Wait() const {
  if (!handle_.recorded()) return absl::OkStatus();
  const CudaScope scope(handle_.context());
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(cudaEventSynchronize(handle_.get()), "cudaEventSynchronize");
}

absl::StatusOr<std::unique_ptr<CudaTimingEvent>> CudaTimingEvent::Create(
    const CudaContext& context) {
  PENSTOCK_ASSIGN_OR_RETURN(auto handle, CudaEventHandle::Create(context, cudaEventDefault));
  return std::make_unique<CudaTimingEvent>(std::move(handle));
}

absl::StatusOr<absl::Duration> CudaTimingEvent::Since(const TimingEvent& start) const {
  const auto* const first = dynamic_cast<const CudaTimingEvent*>(&start);
  if (first == nullptr || first->handle_.context().context != handle_.context().context) {
    return absl::FailedPreconditionError("the timing events are of different devices");
  }
  if (!first->handle_.recorded() || !handle_.recorded()) {
    return absl::FailedPreconditionError("a timing event that was never recorded has no time");
  }
  const CudaScope scope(handle_.context());
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  float milliseconds = 0;
  const cudaError_t error =
      cudaEventElapsedTime(&milliseconds, first->handle_.get(), handle_.get());
  const absl::Status status = CudaStatus(error, "cudaEventElapsedTime");
  if (error == cudaErrorNotReady) {
    return absl::FailedPreconditionError("a timing event is not done yet");
  }
  PENSTOCK_RETURN_IF_ERROR(status);
  return absl::Milliseconds(milliseconds);
}

}  // namespace penstock
