#include "penstock/memory/sim_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace penstock {
namespace {

constexpr int kCuInvalid = 64;  // No stream of CUDA's lies there.

class SimDeviceTest : public testing::Test {
 protected:
  std::unique_ptr<Stream> NewStream() { return device_->CreateStream().value(); }
  std::shared_ptr<Event> NewEvent() { return device_->AcquireEvent().value(); }
  void Launch(const Stream& stream, std::function<void()> kernel) {
    ASSERT_EQ(device_->Launch(stream.ref(), std::move(kernel)), absl::OkStatus());
  }
  void Finish(const Stream& stream) {
    ASSERT_EQ(device_->Synchronize(stream.ref()), absl::OkStatus());
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
};

ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(SimDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->name(), "sim");
  EXPECT_EQ(device_->kind(), DeviceKind::kSim);
  EXPECT_EQ(device_->dl_device().device_type, kDLCPU);
  EXPECT_EQ(SimDevice::Create({.name = "host"})->name(), "host");
}

TEST_F(SimDeviceTest, AStreamRunsInOrder) {
  const auto stream = NewStream();
  std::vector<int> ran, expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  for (int i : expected) Launch(*stream, [&ran, i] { ran.push_back(i); });
  Finish(*stream);
  EXPECT_EQ(ran, expected);
}

TEST_F(SimDeviceTest, StreamsRunBesideEachOther) {
  const auto a = NewStream(), b = NewStream();
  std::latch both(2);  // Each kernel needs the other to run.
  for (const Stream* stream : {a.get(), b.get()}) {
    Launch(*stream, [&both] { both.arrive_and_wait(); });
  }
  Finish(*a);
  Finish(*b);
}

TEST_F(SimDeviceTest, AnEventOrdersTwoStreams) {
  const auto a = NewStream(), b = NewStream();
  const auto event = NewEvent();
  std::latch gate(1);
  int written = 0, read = 0;
  Launch(*a, [&] {
    gate.wait();
    written = 7;
  });
  ASSERT_EQ(event->Record(a->ref()), absl::OkStatus());
  ASSERT_EQ(event->Block(b->ref()), absl::OkStatus());
  Launch(*b, [&] { read = written; });
  EXPECT_FALSE(event->Done().value());
  gate.count_down();
  Finish(*b);
  EXPECT_EQ(read, 7);
  EXPECT_TRUE(event->Done().value());
}

TEST_F(SimDeviceTest, TheHostWaitsForAnEvent) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  int written = 0;
  Launch(*stream, [&] { written = 7; });
  ASSERT_EQ(event->Record(stream->ref()), absl::OkStatus());
  EXPECT_EQ(event->Wait(), absl::OkStatus());
  EXPECT_EQ(written, 7);
}

TEST_F(SimDeviceTest, AnEventNeverRecordedIsDone) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  EXPECT_TRUE(event->Done().value());
  EXPECT_EQ(event->Wait(), absl::OkStatus());
  EXPECT_EQ(event->Block(stream->ref()), absl::OkStatus());
  EXPECT_TRUE(device_->AcquireTimingEvent().value()->Done().value());
}

TEST_F(SimDeviceTest, RecordingAgainReplacesTheMarkButNotEarlierWaits) {
  const auto a = NewStream(), b = NewStream(), waiting = NewStream();
  const auto event = NewEvent();
  std::latch gate(1);
  bool opened = false, seen = false;
  Launch(*a, [&] {
    gate.wait();
    opened = true;
  });
  ASSERT_EQ(event->Record(a->ref()), absl::OkStatus());
  ASSERT_EQ(event->Block(waiting->ref()), absl::OkStatus());
  Launch(*waiting, [&] { seen = opened; });
  ASSERT_EQ(event->Record(b->ref()), absl::OkStatus());
  EXPECT_EQ(event->Wait(), absl::OkStatus());  // Of b, which has nothing to do.
  gate.count_down();
  Finish(*waiting);
  EXPECT_TRUE(seen);
}

TEST_F(SimDeviceTest, APooledEventIsAsNew) {
  const auto stream = NewStream();
  std::latch gate(1);
  Launch(*stream, [&] { gate.wait(); });
  auto event = NewEvent();
  ASSERT_EQ(event->Record(stream->ref()), absl::OkStatus());
  EXPECT_FALSE(event->Done().value());
  const Event* const first = event.get();
  event.reset();
  const auto again = NewEvent();
  EXPECT_EQ(again.get(), first);
  EXPECT_TRUE(again->Done().value());
  gate.count_down();
  Finish(*stream);
}

TEST_F(SimDeviceTest, CountsWhatADriverWouldAllocate) {
  EXPECT_EQ(device_->driver_allocations(), 0);
  const auto stream = NewStream();
  EXPECT_EQ(device_->driver_allocations(), 1);
  auto first = NewEvent(), second = NewEvent();
  EXPECT_EQ(device_->driver_allocations(), 3);
  first.reset();
  second.reset();
  first = NewEvent();
  second = NewEvent();
  EXPECT_EQ(device_->driver_allocations(), 3);
  const auto timing = device_->AcquireTimingEvent().value();
  EXPECT_EQ(device_->driver_allocations(), 4);
  const Buffer pinned = device_->AllocateHost(10, HostMemory::kPinned).value();
  const Buffer pageable = device_->AllocateHost(10, HostMemory::kPageable).value();
  const Buffer device = device_->AllocateDevice(10).value();
  EXPECT_EQ(device_->driver_allocations(), 7);
  EXPECT_EQ(device_->AllocateHost(0, HostMemory::kPinned).value().data(), nullptr);
  EXPECT_EQ(device_->AllocateDevice(0).value().data(), nullptr);
  EXPECT_EQ(device_->driver_allocations(), 7);
}

TEST_F(SimDeviceTest, HostMemoryIsZeroedAndDeviceMemoryIsNot) {
  const Buffer host = device_->AllocateHost(5000, HostMemory::kPinned).value();
  EXPECT_EQ(host.size(), 5000u);
  EXPECT_EQ(std::count(host.data(), host.data() + 5000, std::byte{0}), 5000);
  const Buffer device = device_->AllocateDevice(5000).value();
  EXPECT_EQ(device.size(), 5000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device.data()) % 256, 0u);
  EXPECT_EQ(std::count(device.data(), device.data() + 5000, std::byte{0}), 0);
}

TEST_F(SimDeviceTest, CopiesBothWays) {
  const Buffer from = device_->AllocateHost(1000, HostMemory::kPinned).value();
  const Buffer device = device_->AllocateDevice(1000).value();
  const Buffer to = device_->AllocateHost(1000, HostMemory::kPinned).value();
  std::fill_n(from.data(), 1000, std::byte{42});
  const auto stream = NewStream();
  EXPECT_EQ(device_->CopyToDevice(device.data(), from.data(), 1000, stream->ref()),
            absl::OkStatus());
  EXPECT_EQ(device_->CopyToHost(to.data() + 1, device.data() + 1, 999, stream->ref()),
            absl::OkStatus());
  EXPECT_EQ(device_->CopyToHost(nullptr, nullptr, 0, stream->ref()), absl::OkStatus());
  Finish(*stream);
  EXPECT_EQ(to.data()[0], std::byte{0});
  EXPECT_EQ(std::count(to.data(), to.data() + 1000, std::byte{42}), 999);
}

TEST_F(SimDeviceTest, CopiesWithinItsMemoryInStreamOrder) {
  const Buffer from = device_->AllocateHost(1000, HostMemory::kPinned).value();
  const Buffer first = device_->AllocateDevice(1000).value();
  const Buffer second = device_->AllocateDevice(1000).value();
  std::fill_n(from.data(), 1000, std::byte{42});
  const auto stream = NewStream();
  EXPECT_EQ(device_->CopyToDevice(first.data(), from.data(), 1000, stream->ref()),
            absl::OkStatus());
  EXPECT_EQ(device_->CopyOnDevice(second.data() + 1, first.data(), 998, stream->ref()),
            absl::OkStatus());
  EXPECT_EQ(device_->CopyOnDevice(nullptr, nullptr, 0, stream->ref()), absl::OkStatus());
  Finish(*stream);
  EXPECT_NE(second.data()[0], std::byte{42});
  EXPECT_NE(second.data()[999], std::byte{42});
  EXPECT_EQ(std::count(second.data(), second.data() + 1000, std::byte{42}), 998);
  EXPECT_EQ(device_->free_bytes(), 0);  // It has no memory of its own.
}

TEST_F(SimDeviceTest, DefaultStreamsAreTheCallingThread) {
  CUstream_st* const null_variable = nullptr;
  for (const StreamRef stream :
       {StreamRef::LegacyDefault(), StreamRef::PerThreadDefault(), StreamRef(null_variable)}) {
    std::thread::id ran_on;
    EXPECT_EQ(device_->Launch(stream, [&] { ran_on = std::this_thread::get_id(); }),
              absl::OkStatus());
    EXPECT_EQ(ran_on, std::this_thread::get_id());
    const auto event = NewEvent();
    EXPECT_EQ(event->Record(stream), absl::OkStatus());
    EXPECT_TRUE(event->Done().value());
    EXPECT_EQ(device_->Synchronize(stream), absl::OkStatus());
  }
}

TEST_F(SimDeviceTest, BlockingADefaultStreamBlocksTheThread) {
  const auto stream = NewStream();
  const auto event = NewEvent();
  int written = 0;
  Launch(*stream, [&] { written = 7; });
  ASSERT_EQ(event->Record(stream->ref()), absl::OkStatus());
  EXPECT_EQ(event->Block(StreamRef::LegacyDefault()), absl::OkStatus());
  EXPECT_EQ(written, 7);
}

TEST_F(SimDeviceTest, RefusesStreamsOfOtherDevices) {
  const auto other = SimDevice::Create();
  const auto foreign = other->CreateStream().value();
  const auto event = NewEvent();
  for (const StreamRef stream :
       {foreign->ref(), StreamRef(reinterpret_cast<CUstream_st*>(uintptr_t{kCuInvalid}))}) {
    bool ran = false;
    EXPECT_EQ(device_->Launch(stream, [&] { ran = true; }).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(event->Record(stream).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(device_->Synchronize(stream).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_FALSE(ran);
  }
}

TEST_F(SimDeviceTest, AStreamEndsWhenItsWorkHasEndedAndLeavesNoThread) {
  const ptrdiff_t before = Threads();
  const auto event = NewEvent();
  int ran = 0;
  {
    const auto a = NewStream(), b = NewStream();
    EXPECT_EQ(Threads(), before + 2);
    for (int i = 0; i < 100; ++i) Launch(*a, [&] { ++ran; });
    ASSERT_EQ(event->Record(a->ref()), absl::OkStatus());
  }
  EXPECT_EQ(ran, 100);
  EXPECT_TRUE(event->Done().value());  // Events outlive streams.
  EXPECT_EQ(Threads(), before);
}

TEST_F(SimDeviceTest, LivesAsLongAsWhatWasMadeFromIt) {
  const std::weak_ptr<SimDevice> alive = device_;
  auto stream = NewStream();
  auto event = NewEvent();
  auto timing = device_->AcquireTimingEvent().value();
  Buffer host = device_->AllocateHost(1, HostMemory::kPinned).value();
  Buffer device = device_->AllocateDevice(1).value();
  ASSERT_EQ(event->Record(stream->ref()), absl::OkStatus());
  device_.reset();
  stream.reset();
  EXPECT_EQ(event->Wait(), absl::OkStatus());
  event.reset();
  timing.reset();
  host.Reset();
  EXPECT_FALSE(alive.expired());
  device.Reset();
  EXPECT_TRUE(alive.expired());
}

// For the sanitizers: all that may be shared is.
TEST_F(SimDeviceTest, IsThreadSafe) {
  const auto stream = NewStream();
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto own = device_->CreateStream().value();
      for (int i = 0; i < 100; ++i) {
        const auto event = device_->AcquireEvent().value();
        EXPECT_EQ(device_->Launch(own->ref(), [&] { ++ran; }), absl::OkStatus());
        EXPECT_EQ(event->Record(own->ref()), absl::OkStatus());
        EXPECT_EQ(event->Block(stream->ref()), absl::OkStatus());
        EXPECT_EQ(device_->Launch(stream->ref(), [&] { ++ran; }), absl::OkStatus());
        const Buffer buffer = device_->AllocateHost(1, HostMemory::kPinned).value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Finish(*stream);
  EXPECT_EQ(ran, 800);
}

}  // namespace
}  // namespace penstock
