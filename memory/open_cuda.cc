#include "penstock/memory/open_cuda.h"

#include <cuda_runtime_api.h>

#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

bool BuiltWithCuda() { return true; }

absl::StatusOr<std::shared_ptr<Device>> OpenCuda(int ordinal) {
  return CudaDevice::Create(ordinal);
}

absl::StatusOr<int> CurrentCudaOrdinal() {
  int ordinal = 0;
  PENSTOCK_RETURN_IF_ERROR(CudaStatus(cudaGetDevice(&ordinal), "cudaGetDevice"));
  return ordinal;
}

}  // namespace penstock
