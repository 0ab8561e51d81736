// The one seam between what is built with CUDA (open_cuda.cc) and without (open_cuda_absent.cc).
// For open_device.cc.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "penstock/memory/device.h"

namespace penstock {

bool BuiltWithCuda();
// FailedPrecondition in a build without CUDA, both.
absl::StatusOr<std::shared_ptr<Device>> OpenCuda(int ordinal);
// The calling thread's current device. Initialises nothing.
absl::StatusOr<int> CurrentCudaOrdinal();

}  // namespace penstock
