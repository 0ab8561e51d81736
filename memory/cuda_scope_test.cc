// CudaScope against a driver of two variables: runs without CUDA.
#include "penstock/memory/cuda_scope.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace penstock {
namespace {

// What the driver knows of a thread.
std::vector<CUctx_st*> contexts;  // The last one is current.
int capture_mode = 0;
bool shut_down = false;

CUctx_st* Context(int* identity) { return reinterpret_cast<CUctx_st*>(identity); }
CUctx_st* Current() { return contexts.empty() ? nullptr : contexts.back(); }

constexpr int kDeinitialized = 4;

int GetCurrent(CUctx_st** context) {
  *context = Current();
  return shut_down ? kDeinitialized : 0;
}
int Push(CUctx_st* context) {
  contexts.push_back(context);
  return 0;
}
int Pop(CUctx_st** context) {
  *context = Current();
  contexts.pop_back();
  return 0;
}
int ExchangeCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

class CudaScopeTest : public testing::Test {
 protected:
  void SetUp() override {
    contexts.clear();
    capture_mode = 1;
    shut_down = false;
    driver_.context = Context(&ours_);
    driver_.get_current = GetCurrent;
    driver_.push = Push;
    driver_.pop = Pop;
    driver_.exchange_capture_mode = ExchangeCaptureMode;
  }

  int ours_ = 0, theirs_ = 0;
  CudaContext driver_;
};

TEST_F(CudaScopeTest, MakesTheDeviceCurrentAndRestoresNone) {
  {
    const CudaScope scope(driver_);
    EXPECT_EQ(scope.status(), absl::OkStatus());
    EXPECT_EQ(Current(), driver_.context);
    EXPECT_EQ(capture_mode, kRelaxedCapture);
  }
  EXPECT_TRUE(contexts.empty());
  EXPECT_EQ(capture_mode, 1);
}

TEST_F(CudaScopeTest, RestoresTheCallersContext) {
  contexts = {Context(&theirs_)};
  {
    const CudaScope scope(driver_);
    const CudaScope inner(driver_);
    EXPECT_EQ(contexts.size(), 2u);  // The inner one finds what it needs.
    EXPECT_EQ(Current(), driver_.context);
  }
  EXPECT_EQ(contexts, std::vector<CUctx_st*>{Context(&theirs_)});
  EXPECT_EQ(capture_mode, 1);
}

TEST_F(CudaScopeTest, DoesNothingOnceTheDriverHasShutDown) {
  shut_down = true;
  {
    const CudaScope scope(driver_);
    EXPECT_EQ(scope.status(), absl::UnavailableError("CUDA has shut down (driver error 4)"));
    EXPECT_EQ(capture_mode, 1);
  }
  EXPECT_TRUE(contexts.empty());
  EXPECT_EQ(capture_mode, 1);
}

}  // namespace
}  // namespace penstock
