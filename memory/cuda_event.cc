#include "penstock/memory/cuda_event.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
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
  // Not cudaEventBlockingSync: an event that a thread may sleep on interrupts the host each time it
  // passes, also when nobody waits, as is nearly always so here. With 150,000 batches a second that
  // kept half a core busy.
  PENSTOCK_ASSIGN_OR_RETURN(auto handle, CudaEventHandle::Create(context, cudaEventDisableTiming));
  return std::make_unique<CudaEvent>(std::move(handle));
}

absl::Status CudaEvent::Block(StreamRef stream) {
  PENSTOCK_ASSIGN_OR_RETURN(cudaStream_t handle, CudaHandle(stream));
  if (!handle_.recorded()) return absl::OkStatus();
  const CudaScope scope(handle_.context());
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(cudaStreamWaitEvent(handle, handle_.get(), 0), "cudaStreamWaitEvent");
}

// Looks, for a while without sleeping: cudaEventSynchronize() would never sleep.
absl::Status CudaEvent::Wait() const {
  constexpr absl::Duration kLook = absl::Microseconds(20), kLongest = absl::Microseconds(200);
  const absl::Time start = absl::Now();
  for (absl::Duration pause = absl::Microseconds(10);;) {
    PENSTOCK_ASSIGN_OR_RETURN(const bool done, handle_.Done());
    if (done) return absl::OkStatus();
    if (absl::Now() - start < kLook) continue;
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongest);
  }
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
