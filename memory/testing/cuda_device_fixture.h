// What the tests of CudaDevice share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "penstock/memory/cuda_device.h"

namespace penstock {

inline constexpr size_t kMiB = size_t{1} << 20;

// Skips its tests where there is no CUDA device.
class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::shared_ptr<CudaDevice>> device = CudaDevice::Create(0);
    if (device.status().code() == absl::StatusCode::kFailedPrecondition) {
      GTEST_SKIP() << "no CUDA device: " << device.status();
    }
    device_ = std::move(device).value();
    stream_ = device_->CreateStream().value();
    Occupy(stream_->ref(), absl::ZeroDuration());  // Loads the kernel.
    Finish(stream_->ref());
  }

  std::shared_ptr<TimingEvent> Stamp(StreamRef stream) {
    auto stamp = device_->AcquireTimingEvent().value();
    EXPECT_EQ(stamp->Record(stream), absl::OkStatus());
    return stamp;
  }
  std::shared_ptr<Event> Mark(StreamRef stream) {
    auto event = device_->AcquireEvent().value();
    EXPECT_EQ(event->Record(stream), absl::OkStatus());
    return event;
  }
  void Occupy(StreamRef stream, absl::Duration duration) {
    ASSERT_EQ(device_->Occupy(stream, duration), absl::OkStatus());
  }
  void Finish(StreamRef stream) { ASSERT_EQ(device_->Synchronize(stream), absl::OkStatus()); }
  // Uses every kind of call that a capture elsewhere, or a current context, could suffer from.
  void UseEverything() {
    const auto stream = device_->CreateStream().value();
    const Buffer host = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
    const Buffer device = device_->AllocateDevice(kMiB).value();
    EXPECT_EQ(device_->CopyToDevice(device.data(), host.data(), kMiB, stream->ref()),
              absl::OkStatus());
    EXPECT_EQ(device_->Occupy(stream->ref(), absl::Milliseconds(1)), absl::OkStatus());
    const auto event = Mark(stream->ref());
    EXPECT_TRUE(event->Done().ok());
    EXPECT_EQ(event->Wait(), absl::OkStatus());
    EXPECT_TRUE(event->Done().value());
    EXPECT_EQ(Stamp(stream->ref())->Done().status(), absl::OkStatus());
  }

  std::shared_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace penstock
