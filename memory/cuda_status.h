// Errors of the CUDA runtime as absl::Status.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// OK, or "cudaErrorMemoryAllocation(2): out of memory, in cudaMalloc", where `call` is what gave
// `error`. Takes the error out of the runtime's last error, if it is that: a caller who asks for it
// after his own launch shall not find ours. (One that has broken the context stays, whatever one
// does.)
//
// An error that is not the call's own begins with "earlier asynchronous CUDA error: ".
//
// ResourceExhausted: memory. FailedPrecondition: no device, no suitable driver, or a stream that is
// being captured. Unavailable: CUDA has shut down. Aborted: the device has failed for good, by a
// kernel's fault maybe. Internal: a call that is wrong.
absl::Status CudaStatus(cudaError_t error, absl::string_view call);

}  // namespace penstock
