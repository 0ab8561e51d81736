// A kernel that takes time and does nothing else.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace penstock {

// Keeps `stream` of the current device, and one thread of one SM, busy for `nanoseconds` of the
// GPU's clock (which ticks about every microsecond). Asynchronous.
cudaError_t LaunchSpin(cudaStream_t stream, uint64_t nanoseconds);

}  // namespace penstock
