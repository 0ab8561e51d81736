#include "penstock/memory/cuda_spin.h"

namespace penstock {
namespace {

__device__ uint64_t Nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void Spin(uint64_t nanoseconds) {
  const uint64_t start = Nanoseconds();
  while (Nanoseconds() - start < nanoseconds) __nanosleep(200);
}

}  // namespace

cudaError_t LaunchSpin(cudaStream_t stream, uint64_t nanoseconds) {
  // Not <<<>>>, whose error can only be had together with one of the caller's own.
  void* arguments[] = {&nanoseconds};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&Spin), dim3(1), dim3(1), arguments, 0,
                          stream);
}

}  // namespace penstock
