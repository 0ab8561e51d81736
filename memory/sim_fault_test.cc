// SimDevice's injected faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

using Calls = std::vector<std::pair<size_t, int64_t>>;

absl::Status Fault() { return absl::DataLossError("an injected fault"); }

TEST(SimFail, IsStickyForEveryCall) {
  const auto device = SimDevice::Create();
  const auto stream = device->CreateStream().value();
  const auto event = device->AcquireEvent().value();
  const auto timing = device->AcquireTimingEvent().value();
  EXPECT_EQ(device->status(), absl::OkStatus());
  ASSERT_EQ(device->Launch(stream->ref(),
                           [&] {
                             device->Fail(absl::OkStatus());  // No failure.
                             device->Fail(Fault());
                             device->Fail(absl::UnknownError("the second one"));
                           }),
            absl::OkStatus());
  EXPECT_EQ(device->Synchronize(stream->ref()), Fault());
  EXPECT_EQ(device->status(), Fault());

  std::byte from{1}, to{0};
  EXPECT_EQ(device->CreateStream().status(), Fault());
  EXPECT_EQ(device->AcquireEvent().status(), Fault());
  EXPECT_EQ(device->AcquireTimingEvent().status(), Fault());
  EXPECT_EQ(device->AllocateHost(1, HostMemory::kPinned).status(), Fault());
  EXPECT_EQ(device->AllocateDevice(1).status(), Fault());
  EXPECT_EQ(device->CopyToDevice(&to, &from, 1, stream->ref()), Fault());
  EXPECT_EQ(device->CopyToHost(&to, &from, 1, StreamRef::LegacyDefault()), Fault());
  EXPECT_EQ(device->Occupy(stream->ref(), absl::Hours(1)), Fault());
  EXPECT_EQ(device->Synchronize(StreamRef::LegacyDefault()), Fault());
  EXPECT_EQ(device->Launch(stream->ref(), [] { FAIL(); }), Fault());
  EXPECT_EQ(event->Record(stream->ref()), Fault());
  EXPECT_EQ(event->Block(stream->ref()), Fault());
  EXPECT_EQ(event->Done().status(), Fault());
  EXPECT_EQ(event->Wait(), Fault());
  EXPECT_EQ(timing->Record(stream->ref()), Fault());
  EXPECT_EQ(timing->Done().status(), Fault());
  EXPECT_EQ(timing->Since(*timing).status(), Fault());
  EXPECT_EQ(to, std::byte{0});
}

TEST(SimFail, DropsWhatIsInTheStreamsAndWakesWaiters) {
  const auto device = SimDevice::Create();
  const auto failing = device->CreateStream().value();
  const auto behind = device->CreateStream().value();
  const auto event = device->AcquireEvent().value();
  const auto last = device->AcquireEvent().value();
  std::byte from{1}, to{0};
  std::latch gate(1);
  ASSERT_EQ(device->Launch(failing->ref(),
                           [&] {
                             gate.wait();
                             device->Fail(Fault());
                           }),
            absl::OkStatus());
  ASSERT_EQ(device->Launch(failing->ref(), [] { ADD_FAILURE(); }), absl::OkStatus());
  ASSERT_EQ(event->Record(failing->ref()), absl::OkStatus());
  ASSERT_EQ(event->Block(behind->ref()), absl::OkStatus());
  ASSERT_EQ(device->CopyToDevice(&to, &from, 1, behind->ref()), absl::OkStatus());
  ASSERT_EQ(device->Occupy(behind->ref(), absl::Hours(1)), absl::OkStatus());
  ASSERT_EQ(last->Record(behind->ref()), absl::OkStatus());
  std::thread waiter([&] { EXPECT_EQ(last->Wait(), Fault()); });
  gate.count_down();
  waiter.join();
  EXPECT_EQ(to, std::byte{0});
}

TEST(SimFail, IsToldAtOnceByADefaultStream) {
  const auto device = SimDevice::Create();
  EXPECT_EQ(device->Launch(StreamRef::LegacyDefault(), [&] { device->Fail(Fault()); }), Fault());
}

TEST(SimFaultHooks, FailOneAllocation) {
  Calls host_calls, device_calls;
  const auto device = SimDevice::Create({
      .fail_host_allocation =
          [&](size_t bytes, int64_t call) {
            host_calls.emplace_back(bytes, call);
            return call == 2 ? Fault() : absl::OkStatus();
          },
      .fail_device_allocation =
          [&](size_t bytes, int64_t call) {
            device_calls.emplace_back(bytes, call);
            return call == 1 ? Fault() : absl::OkStatus();
          },
  });
  EXPECT_TRUE(device->AllocateHost(10, HostMemory::kPinned).ok());
  EXPECT_TRUE(device->AllocateHost(0, HostMemory::kPinned).ok());  // Not a call of the driver.
  EXPECT_EQ(device->AllocateHost(20, HostMemory::kPageable).status(), Fault());
  EXPECT_TRUE(device->AllocateHost(30, HostMemory::kPinned).ok());
  EXPECT_EQ(host_calls, (Calls{{10, 1}, {20, 2}, {30, 3}}));
  EXPECT_EQ(device->AllocateDevice(40).status(), Fault());
  EXPECT_TRUE(device->AllocateDevice(50).ok());
  EXPECT_EQ(device_calls, (Calls{{40, 1}, {50, 2}}));
  EXPECT_EQ(device->status(), absl::OkStatus());
  EXPECT_EQ(device->driver_allocations(), 3);  // What was refused allocated nothing.
}

TEST(SimFaultHooks, FailOneCopy) {
  Calls calls;
  const auto device = SimDevice::Create({.fail_copy = [&](size_t bytes, int64_t call) {
    calls.emplace_back(bytes, call);
    return call == 2 ? Fault() : absl::OkStatus();
  }});
  const auto stream = device->CreateStream().value();
  const std::byte from[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte to[3] = {};
  EXPECT_EQ(device->CopyToDevice(&to[0], &from[0], 1, stream->ref()), absl::OkStatus());
  EXPECT_EQ(device->CopyToHost(&to[1], &from[1], 1, stream->ref()), Fault());
  EXPECT_EQ(device->CopyToHost(&to[2], &from[2], 1, stream->ref()), absl::OkStatus());
  EXPECT_EQ(device->Synchronize(stream->ref()), absl::OkStatus());
  EXPECT_EQ(calls, (Calls{{1, 1}, {1, 2}, {1, 3}}));
  EXPECT_EQ(to[0], std::byte{1});
  EXPECT_EQ(to[1], std::byte{0});
  EXPECT_EQ(to[2], std::byte{3});
}

TEST(SimMemory, SaysWhatRanOut) {
  const auto device = SimDevice::Create();
  const Buffer held = device->AllocateHost(1000, HostMemory::kPinned).value();
  const Buffer other = device->AllocateHost(50, HostMemory::kPageable).value();
  EXPECT_EQ(
      device->AllocateHost(size_t{1} << 60, HostMemory::kPinned).status(),
      absl::ResourceExhaustedError("host pinned memory: 1152921504606846976 bytes asked, 1000 "
                                   "bytes held so far: Cannot allocate memory"));
  EXPECT_EQ(
      device->AllocateHost(size_t{1} << 60, HostMemory::kPageable).status(),
      absl::ResourceExhaustedError("host pageable memory: 1152921504606846976 bytes asked, 50 "
                                   "bytes held so far: Cannot allocate memory"));
}

// Case D15: each range is accepted or refused, and given back once.
TEST(SimRegister, TakesWholePagesOnce) {
  const auto device = SimDevice::Create();
  constexpr size_t kPage = 4096;
  alignas(kPage) static std::byte memory[4 * kPage];
  Buffer middle = device->RegisterHost(memory + kPage, 2 * kPage).value();
  EXPECT_EQ(middle.data(), memory + kPage);
  EXPECT_EQ(device->driver_allocations(), 1);
  const auto code = [&](std::byte* data, size_t bytes) {
    return device->RegisterHost(data, bytes).status().code();
  };
  EXPECT_EQ(code(memory, kPage), absl::StatusCode::kOk);
  EXPECT_EQ(code(memory + 3 * kPage, 10), absl::StatusCode::kOk);
  for (const auto& [at, bytes] :
       Calls{{0, 2 * kPage}, {kPage, 1}, {2 * kPage, 1}, {0, 4 * kPage}}) {
    EXPECT_EQ(code(memory + at, bytes), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(code(memory + 1, kPage), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(memory + 5, 0), absl::StatusCode::kOk);  // Nothing is asked of the driver.
  EXPECT_NE(device->AllocateHost(size_t{1} << 60, HostMemory::kPinned)
                .status()
                .message()
                .find(" 8192 bytes held"),
            absl::string_view::npos);
  middle.Reset();
  EXPECT_EQ(code(memory, 4 * kPage), absl::StatusCode::kOk);
}

TEST(SimRegister, CountsAsAnAllocationThatMayFail) {
  const auto device = SimDevice::Create({.fail_host_allocation = [](size_t, int64_t call) {
    return call == 2 ? Fault() : absl::OkStatus();
  }});
  EXPECT_TRUE(device->AllocateHost(10, HostMemory::kPinned).ok());
  alignas(4096) static std::byte memory[4096];
  EXPECT_EQ(device->RegisterHost(memory, 4096).status(), Fault());
  EXPECT_TRUE(device->RegisterHost(memory, 4096).ok());
}

// Case D03: sizes that alternate leave nothing behind.
TEST(SimMemory, TakesNoMoreTheMoreOftenItIsAsked) {
  const auto device = SimDevice::Create();
  const auto mapped = [] {
    std::ifstream statm("/proc/self/statm");
    int64_t pages = 0;
    statm >> pages;
    return pages;
  };
  int64_t warm = 0;
  for (int round = 0; round < 1000; ++round) {
    const Buffer three = device->AllocateHost(3000000, HostMemory::kPinned).value();
    if (round == 10) warm = mapped();
    const Buffer five = device->AllocateHost(5000000, HostMemory::kPinned).value();
    three.data()[2999999] = five.data()[4999999] = std::byte{1};
  }
  const Buffer three = device->AllocateHost(3000000, HostMemory::kPinned).value();
  EXPECT_LE(mapped(), warm + 16);
}

// Case D02: a block is as large as was asked for, whatever was freed before.
TEST(SimMemory, NeverLendsASmallerBlock) {
  const auto device = SimDevice::Create();
  for (const bool host : {true, false}) {
    const auto allocate = [&](size_t bytes) {
      return host ? device->AllocateHost(bytes, HostMemory::kPinned).value()
                  : device->AllocateDevice(bytes).value();
    };
    Buffer before = allocate(150000), freed = allocate(150000), behind = allocate(150000);
    std::fill_n(before.data(), before.size(), std::byte{1});
    std::fill_n(behind.data(), behind.size(), std::byte{3});
    freed.Reset();
    const Buffer larger = allocate(200000);
    ASSERT_GE(larger.size(), 200000u);
    std::fill_n(larger.data(), 200000, std::byte{2});
    EXPECT_EQ(std::count(before.data(), before.data() + 150000, std::byte{1}), 150000);
    EXPECT_EQ(std::count(behind.data(), behind.data() + 150000, std::byte{3}), 150000);
  }
}

TEST(SimMemory, ForgetsWhatWasFreed) {
  const auto device = SimDevice::Create();
  device->AllocateHost(1000, HostMemory::kPinned).value().Reset();
  const absl::Status status = device->AllocateHost(size_t{1} << 60, HostMemory::kPinned).status();
  EXPECT_NE(status.message().find(" 0 bytes held"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace penstock
