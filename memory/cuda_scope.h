// CudaScope: this thread works on one device, for as long as the scope lives.
#pragma once

#include "absl/status/status.h"

struct CUctx_st;    // CUcontext is CUctx_st*.
struct CUevent_st;  // CUevent, and cudaEvent_t, is CUevent_st*.

namespace penstock {

// A device's primary context, and the calls of the driver that the runtime has no match for. Each
// returns 0 or a CUresult. The context belongs to the CUDA runtime, which keeps it until the
// process ends.
struct CudaContext {
  CUctx_st* context = nullptr;
  int (*get_current)(CUctx_st**) = nullptr;
  int (*push)(CUctx_st*) = nullptr;
  int (*pop)(CUctx_st**) = nullptr;
  // Swaps the calling thread's CUstreamCaptureMode. The runtime's own may first make a context.
  int (*exchange_capture_mode)(int*) = nullptr;
  // The runtime's own leaves "not ready" behind as its last error.
  int (*query_event)(CUevent_st*) = nullptr;
};

// CU_STREAM_CAPTURE_MODE_RELAXED: no call is refused because of a capture that goes on elsewhere.
inline constexpr int kRelaxedCapture = 2;

// Makes the device current, and afterwards what was: also a context of the driver's API, or none.
// (cudaSetDevice() cannot restore either; it would make a context on a device that was only the
// default.) Meanwhile this thread's calls do not disturb a graph capture that goes on elsewhere.
class CudaScope {
 public:
  explicit CudaScope(const CudaContext& context);
  ~CudaScope();
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  // Unavailable once the driver has shut down, as it does before the last static destructors run:
  // nothing may then be called, and nothing needs to be freed.
  const absl::Status& status() const { return status_; }

 private:
  const CudaContext& context_;
  absl::Status status_;
  bool pushed_ = false;
  bool relaxed_ = false;
  int capture_mode_ = kRelaxedCapture;  // The caller's, if relaxed_.
};

}  // namespace penstock
