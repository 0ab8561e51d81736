// SeatPool::Collect: which events are asked, how often, and under which lock; by counters.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/memory/seat_pool.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

// Counts how often it is asked, and may do something then.
class CountedEvent final : public Event {
 public:
  explicit CountedEvent(bool passed = false, std::function<void()> on_asked = nullptr)
      : passed(passed), on_asked_(std::move(on_asked)) {}
  absl::Status Record(StreamRef) override { return absl::OkStatus(); }
  absl::Status Block(StreamRef) override { return absl::OkStatus(); }
  absl::StatusOr<bool> Done() const override {
    ++asked;
    if (on_asked_) on_asked_();
    return passed.load();
  }
  absl::Status Wait() const override { return absl::OkStatus(); }

  mutable std::atomic<int> asked = 0;
  std::atomic<bool> passed;

 private:
  const std::function<void()> on_asked_;
};

class SeatCollectTest : public testing::Test {
 protected:
  std::shared_ptr<SeatPool> NewPool(int seats) {
    SlabLayout layout;
    layout.batch = 1;
    layout.row = 16;
    return SeatPool::Create(device_, layout, seats, HostMemory::kPageable).value();
  }
  static void ExpectCounts(const SeatPool& pool, int free, int held, int returning) {
    const SeatPool::Counts counts = pool.counts();
    EXPECT_EQ(counts.free, free);
    EXPECT_EQ(counts.held, held);
    EXPECT_EQ(counts.returning, returning);
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
};

TEST_F(SeatCollectTest, AQuickLookEndsAtTheFirstBusySeat) {
  constexpr int kSeats = 8;  // Two are worth asking.
  const auto pool = NewPool(kSeats);
  std::vector<std::shared_ptr<CountedEvent>> events;
  for (int i = 0; i < kSeats; ++i) {
    events.push_back(std::make_shared<CountedEvent>(/*passed=*/i != 1));
    pool->Return(pool->TryAcquire(), {events[i]});
  }
  const auto asked = [&] {
    std::vector<int> times;
    for (const auto& event : events) times.push_back(event->asked);
    return times;
  };
  EXPECT_EQ(pool->Collect(/*look_at_all=*/false).value(), 7);
  EXPECT_EQ(asked(), (std::vector<int>{1, 1, 0, 0, 0, 0, 0, 0}));
  ExpectCounts(*pool, 1, 0, 7);
  EXPECT_EQ(pool->Collect(/*look_at_all=*/false).value(), 7);
  EXPECT_EQ(asked(), (std::vector<int>{1, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(pool->Collect().value(), 1);
  EXPECT_EQ(asked(), (std::vector<int>{1, 3, 1, 1, 1, 1, 1, 1}));
  ExpectCounts(*pool, 7, 0, 1);
  events[1]->passed = true;
  EXPECT_EQ(pool->Collect(/*look_at_all=*/false).value(), 1);  // One is not worth it.
  EXPECT_EQ(events[1]->asked, 3);
  EXPECT_EQ(pool->Collect().value(), 0);
  EXPECT_EQ(pool->counts().collected, kSeats);
}

// A quarter of the seats, but no more than four.
TEST_F(SeatCollectTest, AQuickLookWaitsUntilSomeHaveGathered) {
  for (const auto& [seats, worth] : {std::pair{1, 1}, {4, 1}, {5, 2}, {12, 3}, {32, 4}, {64, 4}}) {
    const auto pool = NewPool(seats);
    for (int i = 1; i <= worth; ++i) {
      const auto event = std::make_shared<CountedEvent>(/*passed=*/true);
      pool->Return(pool->TryAcquire(), {event});
      EXPECT_EQ(pool->Collect(/*look_at_all=*/false).value(), i < worth ? i : 0) << seats;
      EXPECT_EQ(event->asked, i < worth ? 0 : 1) << seats;
    }
    ExpectCounts(*pool, seats, 0, 0);
  }
}

// Behind one stream the seats are free in the order in which they came back; another stream's are
// not held up, and hold nobody up.
TEST_F(SeatCollectTest, SeatsBehindOneStreamAreFreeInOrder) {
  const auto pool = NewPool(6);
  const auto one = device_->CreateStream().value(), other = device_->CreateStream().value();
  EXPECT_NE(device_->stream_id(one->ref()), device_->stream_id(other->ref()));
  std::promise<void> gate;
  ASSERT_TRUE(device_->Launch(one->ref(), [&] { gate.get_future().wait(); }).ok());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pool->ReturnBehind(pool->TryAcquire(), one->ref()).ok());
    ASSERT_TRUE(pool->ReturnBehind(pool->TryAcquire(), other->ref()).ok());
  }
  ASSERT_TRUE(device_->Synchronize(other->ref()).ok());
  EXPECT_EQ(pool->Collect().value(), 3);
  EXPECT_EQ(pool->Collect().value(), 3);
  gate.set_value();
  ASSERT_TRUE(device_->Synchronize(one->ref()).ok());
  EXPECT_EQ(pool->Collect().value(), 0);
  ExpectCounts(*pool, 6, 0, 0);
}

TEST_F(SeatCollectTest, ASeatThatCannotBeMarkedIsStillHeld) {
  const auto pool = NewPool(1);
  Seat* const seat = pool->TryAcquire();
  const auto other = SimDevice::Create();
  const auto stream = other->CreateStream().value();
  EXPECT_FALSE(pool->ReturnBehind(seat, stream->ref()).ok());
  ExpectCounts(*pool, 0, 1, 0);
  pool->Return(seat, {});
}

TEST_F(SeatCollectTest, APassedEventIsNotAskedAgain) {
  const auto pool = NewPool(1);
  const auto passed = std::make_shared<CountedEvent>(/*passed=*/true);
  const auto busy = std::make_shared<CountedEvent>();
  pool->Return(pool->TryAcquire(), {busy, passed});
  EXPECT_EQ(pool->Collect().value(), 1);
  EXPECT_EQ(pool->Collect().value(), 1);
  EXPECT_EQ(busy->asked, 2);
  EXPECT_EQ(passed->asked, 1);
  busy->passed = true;
  EXPECT_EQ(pool->Collect().value(), 0);
}

// To ask an event may take long. A seat that comes back meanwhile is counted, and left to the next
// Collect().
TEST_F(SeatCollectTest, EventsAreAskedWithoutALock) {
  const auto pool = NewPool(2);
  Seat* const first = pool->TryAcquire();
  const auto event = std::make_shared<CountedEvent>(/*passed=*/true, [&] {
    Seat* const second = pool->TryAcquire();
    ASSERT_NE(second, nullptr);
    pool->Return(second, {});
    ExpectCounts(*pool, 0, 0, 2);
  });
  pool->Return(first, {event});
  EXPECT_EQ(pool->Collect().value(), 1);
  ExpectCounts(*pool, 1, 0, 1);
  EXPECT_EQ(pool->Collect().value(), 0);
}

TEST_F(SeatCollectTest, NoSeatIsLostAmongManyThreads) {
  constexpr int kThreads = 4, kRounds = 2000, kSeats = 8;
  const auto pool = NewPool(kSeats);
  std::atomic<int> users = kThreads;
  std::atomic<int> in_use[kSeats] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds;) {
        Seat* const seat = pool->TryAcquire();
        if (seat == nullptr) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(++in_use[seat->index], 1);  // It is nobody else's.
        --in_use[seat->index];
        pool->Return(seat, {std::make_shared<CountedEvent>(/*passed=*/true)});
        ++round;
      }
      --users;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, quick = i == 0] {
      while (users > 0) EXPECT_TRUE(pool->Collect(/*look_at_all=*/!quick).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->Collect().value(), 0);
  ExpectCounts(*pool, kSeats, 0, 0);
  EXPECT_EQ(pool->counts().collected, int64_t{kThreads} * kRounds);
}

}  // namespace
}  // namespace penstock
