// CudaDevice in a process that uses CUDA itself: what it must leave alone. Part of
// cuda_device_test.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "penstock/memory/cuda_device.h"
#include "penstock/memory/libcuda.h"
#include "penstock/memory/testing/cuda_device_fixture.h"

namespace penstock {
namespace {

using CudaGuestTest = CudaDeviceTest;

TEST_F(CudaGuestTest, LeavesTheCallersErrorAlone) {
  ASSERT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
  UseEverything();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(CudaGuestTest, LeavesTheCallersContextAlone) {
  auto* const get_current = Libcuda::Open()->Find<int(CUctx_st**)>("cuCtxGetCurrent");
  std::thread([&] {  // Which has none yet.
    UseEverything();
    EXPECT_EQ(CudaDevice::Create(0).status(), absl::OkStatus());
    CUctx_st* context = nullptr;
    EXPECT_EQ(get_current(&context), 0);
    EXPECT_EQ(context, nullptr);
  })
      .join();
}

TEST_F(CudaGuestTest, LeavesTheCallersDeviceAlone) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "one device only";
  std::thread([&] {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    UseEverything();
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 1);
    const auto second = CudaDevice::Create(1).value();
    EXPECT_EQ(second->name(), "cuda:1");
    const auto foreign = second->AcquireTimingEvent().value();
    EXPECT_EQ(foreign->Since(*Stamp(stream_->ref())).status().code(),
              absl::StatusCode::kFailedPrecondition);
  }).join();
}

TEST_F(CudaGuestTest, DoesNotDisturbACapture) {
  cudaStream_t consumer = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(consumer, cudaStreamCaptureModeGlobal), cudaSuccess);
  std::thread([&] { UseEverything(); }).join();
  UseEverything();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(consumer, &graph), cudaSuccess);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(consumer), cudaSuccess);
}

// Made before CUDA starts, so destroyed after CUDA has shut down.
struct Leftovers {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::shared_ptr<Event> event;
  Buffer pinned, memory;
} leftovers;

using CudaGuestDeathTest = CudaDeviceTest;

TEST_F(CudaGuestDeathTest, MayOutliveCuda) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // CUDA does not survive a fork.
  const auto leave = [&] {
    leftovers.device = device_;
    leftovers.event = Mark(stream_->ref());
    leftovers.stream = std::move(stream_);
    leftovers.pinned = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
    leftovers.memory = device_->AllocateDevice(kMiB).value();
    std::exit(0);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace penstock
