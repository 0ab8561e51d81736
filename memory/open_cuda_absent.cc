#include "absl/status/status.h"
#include "penstock/memory/open_cuda.h"

namespace penstock {
namespace {

absl::Status Absent() {
  return absl::FailedPreconditionError("built without CUDA (--config=nocuda)");
}

}  // namespace

bool BuiltWithCuda() { return false; }
absl::StatusOr<std::shared_ptr<Device>> OpenCuda(int) { return Absent(); }
absl::StatusOr<int> CurrentCudaOrdinal() { return Absent(); }

}  // namespace penstock
