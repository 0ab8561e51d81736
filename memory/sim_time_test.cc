// SimDevice's model of time: every expectation is exact, and none depends on how fast this machine
// is.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <memory>

#include "absl/time/time.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

constexpr size_t kMegabyte = 1000 * 1000;  // A millisecond at 1 GB/s.

class SimTimeTest : public testing::Test {
 protected:
  void SetUp() override {
    for (std::unique_ptr<Stream>& stream : streams_) stream = device_->CreateStream().value();
  }

  StreamRef stream(int index) const { return streams_[index]->ref(); }
  std::shared_ptr<TimingEvent> Stamp(StreamRef stream) {
    auto stamp = device_->AcquireTimingEvent().value();
    EXPECT_EQ(stamp->Record(stream), absl::OkStatus());
    return stamp;
  }
  // Each stream has its own destination: copies of two streams would race.
  void Copy(StreamRef to, size_t bytes = kMegabyte) {
    const Buffer& memory = to == stream(1) ? other_device_memory_ : device_memory_;
    EXPECT_EQ(device_->CopyToDevice(memory.data(), host_memory_.data(), bytes, to),
              absl::OkStatus());
  }
  void CopyBack(StreamRef stream) {
    EXPECT_EQ(device_->CopyToHost(back_.data(), other_device_memory_.data(), kMegabyte, stream),
              absl::OkStatus());
  }
  void Occupy(StreamRef stream, absl::Duration duration) {
    EXPECT_EQ(device_->Occupy(stream, duration), absl::OkStatus());
  }
  void Finish() {
    for (const auto& stream : streams_) {
      EXPECT_EQ(device_->Synchronize(stream->ref()), absl::OkStatus());
    }
  }

  // Makes all streams begin at one point in the future, and lets `submit` fill them before that;
  // again if this machine was too slow. So nothing in the streams ever waits to be submitted.
  // Returns a stamp of that point.
  std::shared_ptr<TimingEvent> FromOnePoint(const std::function<void()>& submit) {
    for (absl::Duration ahead = absl::Milliseconds(50);; ahead *= 2) {
      Finish();
      const SimTime before = SimNow();
      Occupy(stream(0), ahead);
      const auto event = device_->AcquireEvent().value();
      EXPECT_EQ(event->Record(stream(0)), absl::OkStatus());
      EXPECT_EQ(event->Block(stream(1)), absl::OkStatus());
      auto start = Stamp(stream(0));
      submit();
      if (SimNow() < before + ahead) {
        Finish();
        return start;
      }
    }
  }

  std::shared_ptr<SimDevice> device_ =
      SimDevice::Create({.gb_per_s = 1, .copy_latency = absl::Microseconds(100)});
  Buffer host_memory_ = device_->AllocateHost(kMegabyte, HostMemory::kPinned).value();
  Buffer back_ = device_->AllocateHost(kMegabyte, HostMemory::kPinned).value();
  Buffer device_memory_ = device_->AllocateDevice(kMegabyte).value();
  Buffer other_device_memory_ = device_->AllocateDevice(kMegabyte).value();
  std::unique_ptr<Stream> streams_[2];
};

TEST_F(SimTimeTest, CopiesTakeLatencyAndBandwidth) {
  std::shared_ptr<TimingEvent> one, five, half;
  const auto start = FromOnePoint([&] {
    Copy(stream(0));
    one = Stamp(stream(0));
    for (int i = 0; i < 4; ++i) Copy(stream(0));
    five = Stamp(stream(0));
    Copy(stream(0), kMegabyte / 2);
    half = Stamp(stream(0));
  });
  EXPECT_EQ(one->Since(*start).value(), absl::Microseconds(1100));
  EXPECT_EQ(five->Since(*start).value(), 5 * absl::Microseconds(1100));
  EXPECT_EQ(half->Since(*five).value(), absl::Microseconds(600));
  EXPECT_EQ(start->Since(*one).value(), -absl::Microseconds(1100));
}

TEST_F(SimTimeTest, StreamsShareTheEngineOfOneDirection) {
  std::shared_ptr<TimingEvent> ends[2];
  const auto start = FromOnePoint([&] {
    for (int i = 0; i < 4; ++i) {
      Copy(stream(0));
      Copy(stream(1));
    }
    for (int i = 0; i < 2; ++i) ends[i] = Stamp(stream(i));
  });
  const absl::Duration last =
      std::max(ends[0]->Since(*start).value(), ends[1]->Since(*start).value());
  EXPECT_EQ(last, 8 * absl::Microseconds(1100));
}

TEST_F(SimTimeTest, DirectionsHaveEnginesOfTheirOwn) {
  std::shared_ptr<TimingEvent> ends[2];
  const auto start = FromOnePoint([&] {
    for (int i = 0; i < 4; ++i) {
      Copy(stream(0));
      CopyBack(stream(1));
    }
    for (int i = 0; i < 2; ++i) ends[i] = Stamp(stream(i));
  });
  EXPECT_EQ(ends[0]->Since(*start).value(), 4 * absl::Microseconds(1100));
  EXPECT_EQ(ends[1]->Since(*start).value(), 4 * absl::Microseconds(1100));
}

TEST_F(SimTimeTest, WorkOverlapsCopiesOfOtherStreams) {
  std::shared_ptr<TimingEvent> copied, worked;
  const auto start = FromOnePoint([&] {
    for (int i = 0; i < 3; ++i) Copy(stream(0));
    copied = Stamp(stream(0));
    Occupy(stream(1), absl::Milliseconds(2));
    Occupy(stream(1), absl::Microseconds(500));
    Occupy(stream(1), -absl::Seconds(1));  // As 0.
    worked = Stamp(stream(1));
  });
  EXPECT_EQ(copied->Since(*start).value(), absl::Microseconds(3300));
  EXPECT_EQ(worked->Since(*start).value(), absl::Microseconds(2500));
}

TEST_F(SimTimeTest, AWaitTakesTheTimeOfWhatItWaitsFor) {
  std::shared_ptr<TimingEvent> end;
  const auto start = FromOnePoint([&] {
    Occupy(stream(0), absl::Milliseconds(5));
    const auto event = device_->AcquireEvent().value();
    EXPECT_EQ(event->Record(stream(0)), absl::OkStatus());
    Occupy(stream(1), absl::Milliseconds(1));
    EXPECT_EQ(event->Block(stream(1)), absl::OkStatus());
    Copy(stream(1));
    end = Stamp(stream(1));
  });
  EXPECT_EQ(end->Since(*start).value(), absl::Microseconds(6100));
}

TEST_F(SimTimeTest, KernelsTakeNone) {
  std::shared_ptr<TimingEvent> end;
  const auto start = FromOnePoint([&] {
    EXPECT_EQ(device_->Launch(stream(0), [] { SimSleepUntil(SimNow() + absl::Milliseconds(2)); }),
              absl::OkStatus());
    Copy(stream(0));
    end = Stamp(stream(0));
  });
  EXPECT_EQ(end->Since(*start).value(), absl::Microseconds(1100));
}

TEST_F(SimTimeTest, TheHostFeelsModelledTime) {
  const SimTime before = SimNow();
  Occupy(stream(0), absl::Milliseconds(3));
  Copy(stream(0));
  EXPECT_EQ(device_->Synchronize(stream(0)), absl::OkStatus());
  EXPECT_GE(SimNow() - before, absl::Microseconds(4100));
}

TEST_F(SimTimeTest, ADefaultStreamTakesTheCallersTime) {
  const SimTime before = SimNow();
  Copy(StreamRef::LegacyDefault());
  Occupy(StreamRef::PerThreadDefault(), absl::Milliseconds(3));
  EXPECT_GE(SimNow() - before, absl::Microseconds(4100));
}

TEST_F(SimTimeTest, StampsNeedToBeDoneAndOfOneDevice) {
  const auto never = device_->AcquireTimingEvent().value();
  const auto stamp = Stamp(StreamRef::LegacyDefault());
  const auto other = SimDevice::Create();
  const auto foreign = other->AcquireTimingEvent().value();
  ASSERT_EQ(foreign->Record(StreamRef::LegacyDefault()), absl::OkStatus());
  std::latch gate(1);
  ASSERT_EQ(device_->Launch(stream(0), [&] { gate.wait(); }), absl::OkStatus());
  const auto busy = Stamp(stream(0));
  EXPECT_EQ(never->Since(*stamp).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(stamp->Since(*never).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(stamp->Since(*foreign).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(busy->Done().value());
  EXPECT_EQ(busy->Since(*stamp).status().code(), absl::StatusCode::kFailedPrecondition);
  gate.count_down();
  Finish();
}

TEST(SimHostTime, IsRealWhereNoTimeIsModelled) {
  const auto device = SimDevice::Create({.copy_latency = absl::Hours(1)});  // Unused.
  const auto stream = device->CreateStream().value();
  const auto start = device->AcquireTimingEvent().value();
  const auto end = device->AcquireTimingEvent().value();
  std::byte from{1}, to{0};
  SimTime began, ended;
  ASSERT_EQ(start->Record(stream->ref()), absl::OkStatus());
  ASSERT_EQ(device->Launch(stream->ref(),
                           [&] {
                             began = SimNow();
                             SimSleepUntil(began + absl::Milliseconds(1));
                             ended = SimNow();
                           }),
            absl::OkStatus());
  ASSERT_EQ(device->CopyToDevice(&to, &from, 1, stream->ref()), absl::OkStatus());
  ASSERT_EQ(device->Occupy(stream->ref(), absl::Milliseconds(2)), absl::OkStatus());
  ASSERT_EQ(end->Record(stream->ref()), absl::OkStatus());
  ASSERT_EQ(device->Synchronize(stream->ref()), absl::OkStatus());
  EXPECT_EQ(to, std::byte{1});
  EXPECT_GE(end->Since(*start).value(), ended - began + absl::Milliseconds(2));
}

TEST(SimEngine, ServesOneAtATime) {
  SimEngine engine;
  const SimTime now = absl::Seconds(100);
  EXPECT_EQ(engine.Reserve(now, absl::Milliseconds(3)), now + absl::Milliseconds(3));
  EXPECT_EQ(engine.Reserve(now + absl::Milliseconds(1), absl::Milliseconds(3)),
            now + absl::Milliseconds(6));
  EXPECT_EQ(engine.Reserve(now + absl::Milliseconds(10), absl::Milliseconds(3)),
            now + absl::Milliseconds(13));
}

}  // namespace
}  // namespace penstock
