#include "penstock/tests/testing/cuda_kernels.h"

namespace penstock::testing {
namespace {

constexpr uint64_t kNobodys = 0x10;

__global__ void Add(int32_t* counter, int32_t amount) { *counter += amount; }

}  // namespace

cudaError_t LaunchAdd(cudaStream_t stream, int32_t* counter, int32_t amount) {
  Add<<<1, 1, 0, stream>>>(counter, amount);
  return cudaGetLastError();
}

cudaError_t LaunchBadWrite(cudaStream_t stream) {
  return LaunchAdd(stream, reinterpret_cast<int32_t*>(kNobodys), 1);
}

}  // namespace penstock::testing
