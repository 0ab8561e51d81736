#include "penstock/memory/cuda_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

absl::StatusCode CodeOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::StatusCode::kResourceExhausted;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorCapturedEvent:
    case cudaErrorStreamCaptureWrongThread:
      return absl::StatusCode::kFailedPrecondition;
    case cudaErrorCudartUnloading:
      return absl::StatusCode::kUnavailable;
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
      return absl::StatusCode::kAborted;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  if (cudaPeekAtLastError() == error) (void)cudaGetLastError();
  const absl::StatusCode code = CodeOf(error);
  const std::string what = absl::StrCat(cudaGetErrorName(error), "(", static_cast<int>(error),
                                        "): ", cudaGetErrorString(error));
  // The call only tells of it.
  if (code == absl::StatusCode::kAborted) {
    return absl::Status(code,
                        absl::StrCat("earlier asynchronous CUDA error: ", what, ", seen by ", call,
                                     "; a kernel of this process has failed, and the "
                                     "device takes no more of its work"));
  }
  return absl::Status(code, absl::StrCat(what, ", in ", call));
}

}  // namespace penstock
