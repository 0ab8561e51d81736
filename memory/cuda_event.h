// Events of a CudaDevice. For cuda_device.cc, which pools them.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "penstock/memory/cuda_scope.h"
#include "penstock/memory/device.h"

namespace penstock {

// `stream` as the runtime's; FailedPrecondition if it is a SimDevice's.
absl::StatusOr<cudaStream_t> CudaHandle(StreamRef stream);

// Owns a cudaEvent_t. Thread-compatible, but const calls may run beside each other.
class CudaEventHandle {
 public:
  // `flags` are cudaEventCreateWithFlags'. `context` outlives the event.
  static absl::StatusOr<CudaEventHandle> Create(const CudaContext& context, unsigned flags);
  CudaEventHandle(CudaEventHandle&& other) noexcept;
  CudaEventHandle& operator=(CudaEventHandle&&) = delete;
  ~CudaEventHandle();

  const CudaContext& context() const { return *context_; }
  cudaEvent_t get() const { return event_; }
  bool recorded() const { return recorded_; }
  // Back to the state of a new one. (CUDA itself keeps the last mark.)
  void Reset() { recorded_ = false; }
  absl::Status Record(StreamRef stream);
  absl::StatusOr<bool> Done() const;

 private:
  CudaEventHandle(const CudaContext& context, cudaEvent_t event)
      : context_(&context), event_(event) {}

  const CudaContext* context_;
  cudaEvent_t event_;
  bool recorded_ = false;
};

class CudaEvent final : public Event {
 public:
  static absl::StatusOr<std::unique_ptr<CudaEvent>> Create(const CudaContext& context);
  explicit CudaEvent(CudaEventHandle handle) : handle_(std::move(handle)) {}
  void Reset() { handle_.Reset(); }

  absl::Status Record(StreamRef stream) override { return handle_.Record(stream); }
  absl::Status Block(StreamRef stream) override;
  absl::StatusOr<bool> Done() const override { return handle_.Done(); }
  absl::Status Wait() const override;

 private:
  CudaEventHandle handle_;
};

class CudaTimingEvent final : public TimingEvent {
 public:
  static absl::StatusOr<std::unique_ptr<CudaTimingEvent>> Create(const CudaContext& context);
  explicit CudaTimingEvent(CudaEventHandle handle) : handle_(std::move(handle)) {}
  void Reset() { handle_.Reset(); }

  absl::Status Record(StreamRef stream) override { return handle_.Record(stream); }
  absl::StatusOr<bool> Done() const override { return handle_.Done(); }
  absl::StatusOr<absl::Duration> Since(const TimingEvent& start) const override;

 private:
  CudaEventHandle handle_;
};

}  // namespace penstock
