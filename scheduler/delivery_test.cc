#include "penstock/scheduler/delivery.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

// Batches without bytes, whose seats show when they are dropped.
class DeliveryTest : public ::testing::Test {
 protected:
  static constexpr int kSeats = 8;

  DeliveryTest() : delivery_([this](absl::Duration, bool) { return why_; }) {
    SlabLayout layout;
    layout.batch = 1;
    pool_ = *SeatPool::Create(device_, layout, kSeats, HostMemory::kPageable);
  }
  Delivery::Item Batch(int64_t sequence) {
    BatchInfo info;
    info.sequence = sequence;
    return {DeviceBatch(pool_, pool_->TryAcquire(), std::move(info), *device_->AcquireEvent(), {})};
  }
  static Delivery::Item EpochEnd() { return {std::optional<DeviceBatch>()}; }
  static Delivery::Item RunEnd() { return {std::optional<DeviceBatch>(), /*run_end=*/true}; }
  int64_t NextSequence() {
    auto next = delivery_.Next(absl::Seconds(10));
    EXPECT_TRUE(next.ok()) << next.status();
    return next.ok() && *next ? (*next)->info().sequence : -1;
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
  std::shared_ptr<SeatPool> pool_;
  std::string why_;
  Delivery delivery_;
};

TEST_F(DeliveryTest, BringsItemsIntoOrder) {
  delivery_.Put(0, 2, Batch(2));
  delivery_.Put(0, 1, EpochEnd());
  EXPECT_EQ(delivery_.Next(absl::ZeroDuration()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(delivery_.waiting(), 1);
  delivery_.Put(0, 0, Batch(0));
  EXPECT_EQ(NextSequence(), 0);
  EXPECT_EQ(NextSequence(), -1);
  EXPECT_EQ(NextSequence(), 2);
}

TEST_F(DeliveryTest, FirstErrorInOrderIsFinal) {
  delivery_.Put(0, 2, {absl::DataLossError("second")});
  delivery_.Put(0, 1, {absl::DataLossError("first")});
  delivery_.Put(0, 0, Batch(0));
  EXPECT_EQ(NextSequence(), 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(delivery_.Next(absl::Seconds(1)).status(), absl::DataLossError("first"));
  }
}

TEST_F(DeliveryTest, RunEndIsGivenForEver) {
  delivery_.Put(0, 0, EpochEnd());
  delivery_.Put(0, 1, RunEnd());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(NextSequence(), -1);
}

TEST_F(DeliveryTest, CancelWakesEveryCallerAndDropsWhatWaits) {
  delivery_.Put(0, 3, Batch(3));
  std::atomic<int> cancelled{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      cancelled += absl::IsCancelled(delivery_.Next(absl::InfiniteDuration()).status()) ? 1 : 0;
    });
  }
  delivery_.Cancel();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(cancelled, 3);
  delivery_.Put(0, 0, Batch(0));  // Comes too late: dropped too.
  EXPECT_EQ(pool_->counts().held, 0);
}

TEST_F(DeliveryTest, AnotherGenerationDropsTheOldOne) {
  delivery_.Put(0, 0, Batch(0));
  delivery_.StartGeneration(1);
  delivery_.Put(0, 1, Batch(1));  // Was on its way.
  EXPECT_EQ(pool_->counts().held, 0);
  delivery_.Put(1, 0, Batch(7));
  EXPECT_EQ(NextSequence(), 7);
}

TEST_F(DeliveryTest, TimedOutCallSaysWhy) {
  why_ = "because";
  const absl::Status status = delivery_.Next(absl::Milliseconds(1)).status();
  EXPECT_EQ(status, absl::DeadlineExceededError("no batch within 1ms: because"));
}

TEST_F(DeliveryTest, EachItemGoesToOneOfManyCallers) {
  constexpr int kItems = 2000;
  std::atomic<int> batches{0}, ends{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        auto next = delivery_.Next(absl::Seconds(30));
        ASSERT_TRUE(next.ok()) << next.status();
        if (!*next) {
          ++ends;
          return;
        }
        ++batches;
      }
    });
  }
  for (int slot = 0; slot < kItems; ++slot) {
    while (pool_->counts().free == 0) (void)pool_->Collect();
    delivery_.Put(0, slot, Batch(slot));
  }
  delivery_.Put(0, kItems, RunEnd());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(batches, kItems);
  EXPECT_EQ(ends, 4);
}

}  // namespace
}  // namespace penstock
