#include "penstock/memory/cuda_scope.h"

#include "absl/strings/str_cat.h"

namespace penstock {

CudaScope::CudaScope(const CudaContext& context) : context_(context) {
  CUctx_st* current = nullptr;
  int error = context_.get_current(&current);
  if (error == 0 && current != context_.context) {
    error = context_.push(context_.context);
    pushed_ = error == 0;
  }
  if (error != 0) {
    status_ = absl::UnavailableError(absl::StrCat("CUDA has shut down (driver error ", error, ")"));
    return;
  }
  relaxed_ = context_.exchange_capture_mode(&capture_mode_) == 0;
}

CudaScope::~CudaScope() {
  if (relaxed_) (void)context_.exchange_capture_mode(&capture_mode_);
  if (pushed_) {
    CUctx_st* ours = nullptr;
    (void)context_.pop(&ours);
  }
}

}  // namespace penstock
