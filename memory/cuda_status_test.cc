#include "penstock/memory/cuda_status.h"

#include <gtest/gtest.h>

#include <utility>

namespace penstock {
namespace {

TEST(CudaStatus, NamesTheErrorAndTheCall) {
  EXPECT_EQ(CudaStatus(cudaSuccess, "cudaMalloc"), absl::OkStatus());
  EXPECT_EQ(
      CudaStatus(cudaErrorMemoryAllocation, "cudaMalloc"),
      absl::ResourceExhaustedError("cudaErrorMemoryAllocation(2): out of memory, in cudaMalloc"));
  const std::pair<cudaError_t, absl::StatusCode> codes[] = {
      {cudaErrorNoDevice, absl::StatusCode::kFailedPrecondition},
      {cudaErrorInvalidDevice, absl::StatusCode::kFailedPrecondition},
      {cudaErrorStreamCaptureUnsupported, absl::StatusCode::kFailedPrecondition},
      {cudaErrorCudartUnloading, absl::StatusCode::kUnavailable},
      {cudaErrorIllegalAddress, absl::StatusCode::kAborted},
      {cudaErrorInvalidValue, absl::StatusCode::kInternal},
  };
  for (const auto& [error, code] : codes) EXPECT_EQ(CudaStatus(error, "x").code(), code);
}

TEST(CudaStatus, SaysWhenTheCallIsNotToBlame) {
  EXPECT_EQ(CudaStatus(cudaErrorIllegalAddress, "cudaEventRecord"),
            absl::AbortedError(
                "earlier asynchronous CUDA error: cudaErrorIllegalAddress(700): an illegal memory "
                "access was encountered, seen by cudaEventRecord; a kernel of this process has "
                "failed, and the device takes no more of its work"));
}

}  // namespace
}  // namespace penstock
