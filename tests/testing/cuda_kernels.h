// Kernels of a consumer, for tests.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace penstock::testing {

// Writes to an address that no process has: `stream`'s device then fails for this process.
cudaError_t LaunchBadWrite(cudaStream_t stream);

// Adds `amount` to *counter, in device memory.
cudaError_t LaunchAdd(cudaStream_t stream, int32_t* counter, int32_t amount);

}  // namespace penstock::testing
