#include "penstock/memory/batch.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

class BatchTest : public testing::Test {
 protected:
  void SetUp() override {
    SlabLayout layout;
    layout.batch = 2;
    layout.row = 3;
    pool_ = SeatPool::Create(device_, layout, 2, HostMemory::kPinned).value();
    upload_ = device_->CreateStream().value();
    compute_ = device_->CreateStream().value();
    other_ = device_->CreateStream().value();
  }

  // A batch of two rows, uploaded over upload_.
  DeviceBatch NewBatch(std::shared_ptr<BatchTiming> timing = nullptr) {
    Seat* const seat = pool_->TryAcquire();
    seat->host[0] = std::byte{42};
    EXPECT_EQ(device_->CopyToDevice(seat->device, seat->host, 6, upload_->ref()), absl::OkStatus());
    auto ready = device_->AcquireEvent().value();
    EXPECT_EQ(ready->Record(upload_->ref()), absl::OkStatus());
    BatchInfo info;
    info.sequence = 5;
    info.ids = {10, 11};
    TensorView image;
    image.data = seat->device;
    image.shape = {2, 3};
    TensorView label = image;
    label.shape = {2, 1};
    return DeviceBatch(pool_, seat, std::move(info), std::move(ready),
                       {{"image", image}, {"label", label}}, std::move(timing));
  }
  void Hold(const Stream& stream, std::latch& gate) {
    ASSERT_EQ(device_->Launch(stream.ref(), [&gate] { gate.wait(); }), absl::OkStatus());
  }
  void Finish(const Stream& stream) { (void)device_->Synchronize(stream.ref()); }
  void ExpectReturning(int count) {
    EXPECT_EQ(pool_->Collect().value(), count);
    EXPECT_EQ(pool_->counts().returning, count);
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
  std::shared_ptr<SeatPool> pool_;
  std::unique_ptr<Stream> upload_, compute_, other_;
};

TEST_F(BatchTest, SaysWhatIsInIt) {
  DeviceBatch batch = NewBatch();
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.info().sequence, 5);
  EXPECT_EQ(batch.info().ids, (std::vector<int64_t>{10, 11}));
  EXPECT_EQ(batch.Wait(), absl::OkStatus());
  EXPECT_EQ(batch.status(), absl::OkStatus());
  EXPECT_EQ(batch.tensor("image").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(batch.tensor("label").shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(batch.tensors().size(), 2u);
  EXPECT_EQ(*batch.tensor("image").as<uint8_t>(), 42);
}

TEST_F(BatchTest, AStreamThatWaitsSeesTheUpload) {
  std::latch gate(1);
  Hold(*upload_, gate);
  DeviceBatch batch = NewBatch();
  batch.WaitOn(compute_->ref());  // Does not block the host: the gate is closed.
  int seen = 0;
  ASSERT_EQ(device_->Launch(compute_->ref(),
                            [&, image = batch.tensor("image")] { seen = *image.as<uint8_t>(); }),
            absl::OkStatus());
  gate.count_down();
  Finish(*compute_);
  EXPECT_EQ(seen, 42);
}

TEST_F(BatchTest, ADefaultStreamWaitsAtOnce) {
  DeviceBatch batch = NewBatch();
  batch.WaitOn(StreamRef::LegacyDefault());
  EXPECT_EQ(*batch.tensor("image").as<uint8_t>(), 42);
  batch.Release();
  ExpectReturning(0);
}

TEST_F(BatchTest, ReturnsWhenItsStreamsHavePassed) {
  std::latch gate(1), other_gate(1);
  {
    const DeviceBatch batch = [&] {
      DeviceBatch made = NewBatch();
      made.WaitOn(compute_->ref());
      made.WaitOn(other_->ref());
      made.WaitOn(compute_->ref());
      return made;
    }();
    Hold(*compute_, gate);
    Hold(*other_, other_gate);
  }
  Finish(*upload_);
  ExpectReturning(1);
  gate.count_down();
  Finish(*compute_);
  ExpectReturning(1);
  other_gate.count_down();
  Finish(*other_);
  ExpectReturning(0);
  EXPECT_EQ(pool_->counts().free, 2);
}

TEST_F(BatchTest, ThatNobodyWaitedForIsGuardedByItsUpload) {
  std::latch gate(1);
  Hold(*upload_, gate);
  {
    const DeviceBatch batch = NewBatch();
  }
  ExpectReturning(1);
  gate.count_down();
  Finish(*upload_);
  ExpectReturning(0);
}

TEST_F(BatchTest, ReleaseTwiceIsOnce) {
  DeviceBatch batch = NewBatch();
  batch.Release();
  batch.Release();
  EXPECT_EQ(batch.size(), 2);  // What it was stays known.
  EXPECT_EQ(pool_->counts().held, 0);
  EXPECT_EQ(pool_->counts().returning, 1);
}

TEST_F(BatchTest, MovesItsSeat) {
  DeviceBatch from = NewBatch();
  from.WaitOn(compute_->ref());
  {
    const DeviceBatch to = std::move(from);
    EXPECT_EQ(to.tensor("image").shape[0], 2);
    from.Release();  // NOLINT(bugprone-use-after-move): has nothing.
    EXPECT_EQ(pool_->counts().held, 1);
  }
  EXPECT_EQ(pool_->counts().held, 0);
}

TEST_F(BatchTest, MoveAssignmentReleasesWhatItHeld) {
  DeviceBatch batch = NewBatch();
  DeviceBatch next = NewBatch();
  EXPECT_EQ(next.Wait(), absl::OkStatus());
  EXPECT_EQ(pool_->counts().held, 2);
  batch = std::move(next);
  EXPECT_EQ(pool_->counts().held, 1);
  EXPECT_EQ(pool_->counts().returning, 1);
  EXPECT_EQ(batch.tensors().size(), 2u);  // Waited, as `next` had.
  DeviceBatch& same = batch;
  batch = std::move(same);
  EXPECT_EQ(pool_->counts().held, 1);
}

TEST_F(BatchTest, MayBeReleasedOnAnotherThread) {
  DeviceBatch batch = NewBatch();
  batch.WaitOn(compute_->ref());
  std::thread([moved = std::move(batch)]() mutable { moved.Release(); }).join();
  Finish(*compute_);
  ExpectReturning(0);
}

TEST_F(BatchTest, OutlivesThePoolsOwner) {
  const std::weak_ptr<SeatPool> alive = pool_;
  DeviceBatch batch = NewBatch();
  pool_.reset();
  EXPECT_EQ(batch.Wait(), absl::OkStatus());
  EXPECT_EQ(*batch.tensor("image").as<uint8_t>(), 42);
  batch.Release();
  EXPECT_TRUE(alive.expired());
}

TEST_F(BatchTest, RecordsTheConsumersWork) {
  device_ = SimDevice::Create({.gb_per_s = 1});
  SetUp();
  auto timing = std::make_shared<BatchTiming>();
  timing->work_start = device_->AcquireTimingEvent().value();
  timing->work_end = device_->AcquireTimingEvent().value();
  DeviceBatch batch = NewBatch(timing);
  batch.WaitOn(compute_->ref());
  batch.WaitOn(other_->ref());
  ASSERT_EQ(device_->Occupy(compute_->ref(), absl::Milliseconds(7)), absl::OkStatus());
  batch.Release();
  Finish(*compute_);
  Finish(*other_);
  ExpectReturning(0);
  const absl::Duration worked = timing->work_end->Since(*timing->work_start).value();
  EXPECT_GE(worked, absl::Milliseconds(7));
  EXPECT_EQ(batch.status(), absl::OkStatus());
}

TEST_F(BatchTest, LeavesTimesUnrecordedIfNoStreamWaited) {
  auto timing = std::make_shared<BatchTiming>();
  timing->work_start = device_->AcquireTimingEvent().value();
  timing->work_end = device_->AcquireTimingEvent().value();
  DeviceBatch batch = NewBatch(timing);
  EXPECT_EQ(batch.Wait(), absl::OkStatus());
  batch.Release();
  EXPECT_EQ(timing->work_end->Since(*timing->work_start).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(BatchTest, KeepsTheFirstDeviceErrorAndReturnsItsSeat) {
  DeviceBatch batch = NewBatch();
  const absl::Status fault = absl::DataLossError("an injected fault");
  device_->Fail(fault);
  batch.WaitOn(compute_->ref());
  EXPECT_EQ(batch.status(), fault);
  EXPECT_EQ(batch.Wait(), fault);
  batch.Release();
  EXPECT_EQ(pool_->Collect().status(), fault);
  EXPECT_EQ(pool_->counts().free, 2);
}

TEST_F(BatchTest, MakesNoDriverAllocationOnceWarm) {
  int64_t warm = 0;
  for (int i = 0; i < 50; ++i) {
    DeviceBatch batch = NewBatch();
    batch.WaitOn(compute_->ref());
    batch.WaitOn(other_->ref());
    batch.Release();
    Finish(*compute_);
    Finish(*other_);
    ExpectReturning(0);
    if (i == 0) warm = device_->driver_allocations();
  }
  EXPECT_EQ(device_->driver_allocations(), warm);
}

using BatchDeathTest = BatchTest;

TEST_F(BatchDeathTest, TensorsAreNotToBeHadTooEarlyOrTooLate) {
  DeviceBatch batch = NewBatch();
  EXPECT_DEATH(batch.tensor("image"), R"(tensor\("image"\) before WaitOn\(\) or Wait\(\))");
  EXPECT_DEATH(batch.tensors(), R"(tensors\(\) before WaitOn\(\) or Wait\(\))");
  EXPECT_EQ(batch.Wait(), absl::OkStatus());
  batch.Release();
  EXPECT_DEATH(batch.tensor("image"), R"(tensor\("image"\) of a batch that was released)");
  EXPECT_DEATH(batch.WaitOn(compute_->ref()), R"(WaitOn\(\) of a batch that was released)");
  EXPECT_DEATH((void)batch.Wait(), R"(Wait\(\) of a batch that was released)");
}

TEST_F(BatchDeathTest, AnUnknownTensorIsNamedBesideTheKnownOnes) {
  DeviceBatch batch = NewBatch();
  EXPECT_EQ(batch.Wait(), absl::OkStatus());
  EXPECT_DEATH(batch.tensor("imgae"), R"(tensor\("imgae"\): this batch has image, label)");
}

TEST_F(BatchDeathTest, PerThreadDefaultIsReleasedOnItsThread) {
  // A child that was forked with a batch lets it be.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  DeviceBatch batch = NewBatch();
  std::latch waited(1), refused(1);
  std::thread consumer([&] {
    batch.WaitOn(StreamRef::PerThreadDefault());
    waited.count_down();
    refused.wait();
    batch.Release();
  });
  waited.wait();
  EXPECT_DEATH(batch.Release(), "released on another thread");
  refused.count_down();
  consumer.join();
}

}  // namespace
}  // namespace penstock
