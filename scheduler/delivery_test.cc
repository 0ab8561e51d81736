#include "penstock/scheduler/delivery.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
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

// Each caller sees its share in order, and all of them together see everything once.
TEST_F(DeliveryTest, EachOfManyCallersSeesItsShareInOrder) {
  constexpr int kItems = 2000, kCallers = 4;
  std::vector<std::vector<int64_t>> shares(kCallers);
  std::vector<std::thread> threads;
  for (std::vector<int64_t>& share : shares) {
    threads.emplace_back([&] {
      while (const auto batch = delivery_.Next(absl::Seconds(30)).value()) {
        share.push_back(batch->info().sequence);
      }
    });
  }
  // As launches give them: several at a time, the last one first.
  for (int slot = 0; slot < kItems; slot += 2) {
    while (pool_->counts().free < 2) (void)pool_->Collect();
    std::vector<Delivery::Slot> slots;
    slots.push_back({0, slot + 1, Batch(slot + 1)});
    slots.push_back({0, slot, Batch(slot)});
    delivery_.Put(absl::MakeSpan(slots));
  }
  delivery_.Put(0, kItems, RunEnd());
  for (std::thread& thread : threads) thread.join();
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& share : shares) {
    EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
    all.insert(all.end(), share.begin(), share.end());
  }
  std::sort(all.begin(), all.end());
  std::vector<int64_t> everything(kItems);
  std::iota(everything.begin(), everything.end(), 0);
  EXPECT_EQ(all, everything);
}

// Next() looks out for a moment before it sleeps. Items come before, within, at the end of, and
// after that moment.
TEST_F(DeliveryTest, NothingIsLostWhileNextLooksOut) {
  constexpr int kItems = 1500;
  std::atomic<int> asking = -1;
  std::thread caller([&] {
    for (int i = 0; i < kItems; ++i) {
      asking = i;
      EXPECT_EQ(NextSequence(), i);
    }
  });
  for (int i = 0; i < kItems; ++i) {
    while (pool_->counts().free == 0) (void)pool_->Collect();
    while (asking < i) std::this_thread::yield();
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 100);
    while (std::chrono::steady_clock::now() < until) {
    }
    delivery_.Put(0, i, Batch(i));
  }
  caller.join();
}

TEST_F(DeliveryTest, ACancelIsSeenWhileNextLooksOut) {
  for (int i = 0; i < 300; ++i) {
    Delivery delivery([](absl::Duration, bool) { return std::string(); });
    std::atomic<bool> asking = false;
    std::thread caller([&] {
      asking = true;
      EXPECT_TRUE(absl::IsCancelled(delivery.Next(absl::Seconds(30)).status()));
    });
    while (!asking) std::this_thread::yield();
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 100);
    while (std::chrono::steady_clock::now() < until) {
    }
    delivery.Cancel();
    caller.join();
  }
}

// What comes too late, or for another generation, stays with the caller of Put().
TEST_F(DeliveryTest, SeveralAtATimeAreTakenOrDroppedOneByOne) {
  delivery_.StartGeneration(1);
  std::vector<Delivery::Slot> slots;
  slots.push_back({0, 0, Batch(10)});
  slots.push_back({1, 0, Batch(20)});
  slots.push_back({0, 1, Batch(11)});
  slots.push_back({1, 1, Batch(21)});
  delivery_.Put(absl::MakeSpan(slots));
  slots.clear();
  EXPECT_EQ(pool_->counts().held, 2);
  EXPECT_EQ(NextSequence(), 20);
  EXPECT_EQ(NextSequence(), 21);
  EXPECT_EQ(pool_->counts().held, 0);
  delivery_.Cancel();
  slots.push_back({1, 2, Batch(22)});
  delivery_.Put(absl::MakeSpan(slots));
  slots.clear();
  EXPECT_EQ(pool_->counts().held, 0);
}

}  // namespace
}  // namespace penstock
