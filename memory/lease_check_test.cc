#include "penstock/memory/lease_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "penstock/memory/batch.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/sim_device.h"
#include "penstock/memory/testing/lease_run.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

// Case D06. A millisecond instead of 50: streams here start at once.
TEST(Leases, NoBatchIsWrittenOverBeforeTheDeviceHasReadIt) {
  ExpectConstantBatches(SimDevice::Create(), {.before = absl::Milliseconds(1)});
}

// Case D08.
TEST(Leases, TablesAreThoseOfTheirBatch) {
  ExpectTablesOfTheirBatches(SimDevice::Create(),
                             {.batches = 10000, .before = absl::Microseconds(10)});
}

class LeaseCheckTest : public testing::Test {
 protected:
  LeaseCheckTest() {
    SeatPoolOptions options;
    options.slabs.layout.batch = 2;
    options.slabs.layout.row = kRow;
    options.slabs.layout.outputs = 100;
    options.slabs.seats = 1;
    options.check_leases = true;
    options.node = "normalize";
    pool_ = SeatPool::Create(device_, options).value();
  }
  // The one seat's batch, and where its tensor lies.
  DeviceBatch NewBatch(int64_t sequence) {
    seat_ = pool_->TryAcquire();
    EXPECT_NE(seat_, nullptr);
    EXPECT_EQ(pool_->CheckLease(*seat_), absl::OkStatus());
    auto ready = device_->AcquireEvent().value();
    EXPECT_EQ(ready->Record(stream_->ref()), absl::OkStatus());
    BatchInfo info;
    info.sequence = sequence;
    return DeviceBatch(pool_, seat_, std::move(info), std::move(ready), {});
  }
  // What comes of lending the seat once more.
  absl::Status LendAgain() {
    EXPECT_EQ(device_->Synchronize(stream_->ref()), absl::OkStatus());
    EXPECT_EQ(pool_->Collect().value(), 0);
    late_();
    Seat* const seat = pool_->TryAcquire();
    const absl::Status status = pool_->CheckLease(*seat);
    pool_->Return(seat, {});
    return status;
  }

  // More than one window of what is copied back at a time.
  static constexpr size_t kRow = (size_t{5} << 20) + 3;
  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
  std::unique_ptr<Stream> stream_ = device_->CreateStream().value();
  std::shared_ptr<SeatPool> pool_;
  Seat* seat_ = nullptr;
  std::function<void()> late_ = [] {};
};

TEST_F(LeaseCheckTest, FindsNothingWhereNothingIsWrong) {
  for (int i = 0; i < 3; ++i) {
    DeviceBatch batch = NewBatch(i);
    batch.WaitOn(stream_->ref());
    std::fill_n(seat_->host, pool_->layout().host_bytes(), std::byte{1});
    std::fill_n(seat_->device, pool_->layout().device_bytes(), std::byte{1});
    batch.Release();
    EXPECT_EQ(LendAgain(), absl::OkStatus());
    EXPECT_EQ(pool_->Collect().value(), 0);
  }
}

TEST_F(LeaseCheckTest, WhatIsReadTooLateIsPoison) {
  DeviceBatch batch = NewBatch(0);
  batch.WaitOn(stream_->ref());
  batch.Release();
  const SlabLayout& layout = pool_->layout();
  late_ = [&] {
    EXPECT_EQ(std::count(seat_->host, seat_->host + layout.host_bytes(), LeaseCheck::kPoison),
              static_cast<ptrdiff_t>(layout.host_bytes()));
    EXPECT_EQ(std::count(seat_->device, seat_->device + layout.device_bytes(), LeaseCheck::kPoison),
              static_cast<ptrdiff_t>(layout.device_bytes()));
  };
  EXPECT_EQ(LendAgain(), absl::OkStatus());
}

TEST_F(LeaseCheckTest, AKernelThatWritesTooLateIsReportedWithItsBatchAndStreams) {
  DeviceBatch batch = NewBatch(7);
  batch.WaitOn(stream_->ref());
  batch.WaitOn(StreamRef::LegacyDefault());
  batch.Release();
  const size_t last = pool_->layout().device_bytes() - 1;
  late_ = [&] {
    const auto other = device_->CreateStream().value();  // Which the batch does not know.
    ASSERT_EQ(device_->Launch(other->ref(), [&] { seat_->device[last] = std::byte{0x1f}; }),
              absl::OkStatus());
  };
  const absl::Status status = LendAgain();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("node 'normalize', batch 7: its device memory was written after it was given "
                "back: byte " +
                std::to_string(last) + " is 0x1f, expected 0xdb; stream 0x"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(" and the legacy default stream waited"));
  // Told once.
  late_ = [] {};
  EXPECT_EQ(LendAgain(), absl::OkStatus());
}

TEST_F(LeaseCheckTest, AHostWriteTooLateIsReported) {
  NewBatch(3).Release();  // Nobody waited.
  late_ = [&] { seat_->host[5] = std::byte{0}; };
  const absl::Status status = LendAgain();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("batch 3: its host memory was written after it was given back: byte 5 is "
                        "0x00, expected 0xdb; no stream waited"));
}

// The device does its poisoning when the seat's events have passed, and never before.
TEST_F(LeaseCheckTest, PoisonsNothingThatIsStillInUse) {
  DeviceBatch batch = NewBatch(0);
  std::fill_n(seat_->device, pool_->layout().device_bytes(), std::byte{1});
  batch.WaitOn(stream_->ref());
  std::byte seen{0};
  ASSERT_EQ(device_->Occupy(stream_->ref(), absl::Milliseconds(20)), absl::OkStatus());
  ASSERT_EQ(device_->Launch(stream_->ref(), [&] { seen = seat_->device[0]; }), absl::OkStatus());
  batch.Release();
  while (pool_->Collect().value() > 0) std::this_thread::yield();
  EXPECT_EQ(seen, std::byte{1});
  EXPECT_EQ(seat_->device[0], LeaseCheck::kPoison);
}

TEST(LeaseCheck, AFailedDeviceIsReported) {
  const auto device = SimDevice::Create();
  SeatPoolOptions options;
  options.slabs.layout.batch = 1;
  options.slabs.layout.row = 10;
  options.check_leases = true;
  const auto pool = SeatPool::Create(device, options).value();
  pool->Return(pool->TryAcquire(), {});
  const absl::Status fault = absl::DataLossError("an injected fault");
  device->Fail(fault);
  EXPECT_EQ(pool->Collect().status(), fault);
  EXPECT_EQ(pool->counts().free, 1);
}

}  // namespace
}  // namespace penstock
