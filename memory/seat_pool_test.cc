#include "penstock/memory/seat_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

SlabLayout SmallLayout() {
  SlabLayout layout;
  layout.batch = 4;
  layout.AddTable(8);
  layout.row = 100;
  layout.outputs = 50;
  return layout;
}

class SeatPoolTest : public testing::Test {
 protected:
  std::shared_ptr<SeatPool> NewPool(int seats) {
    return SeatPool::Create(device_, SmallLayout(), seats, HostMemory::kPinned).value();
  }
  // An event behind all that is in `stream`.
  std::shared_ptr<Event> Mark(const Stream& stream) {
    auto event = device_->AcquireEvent().value();
    EXPECT_EQ(event->Record(stream.ref()), absl::OkStatus());
    return event;
  }
  // Keeps `stream` busy until `gate` opens.
  void Hold(const Stream& stream, std::latch& gate) {
    ASSERT_EQ(device_->Launch(stream.ref(), [&gate] { gate.wait(); }), absl::OkStatus());
  }
  void Finish(const Stream& stream) { (void)device_->Synchronize(stream.ref()); }
  static void ExpectCounts(const SeatPool& pool, int free, int held, int returning) {
    const SeatPool::Counts counts = pool.counts();
    EXPECT_EQ(counts.free, free);
    EXPECT_EQ(counts.held, held);
    EXPECT_EQ(counts.returning, returning);
  }

  std::shared_ptr<SimDevice> device_ = SimDevice::Create();
};

TEST_F(SeatPoolTest, LendsSlabsOfItsLayout) {
  const auto pool = NewPool(3);
  EXPECT_EQ(pool->seats(), 3);
  EXPECT_EQ(pool->memory(), HostMemory::kPinned);
  EXPECT_EQ(pool->device(), device_);
  EXPECT_EQ(pool->layout().host_bytes(), SmallLayout().host_bytes());
  ExpectCounts(*pool, 3, 0, 0);
  std::vector<Seat*> seats;
  std::set<std::byte*> slabs;
  for (int i = 0; i < 3; ++i) {
    seats.push_back(pool->TryAcquire());
    ASSERT_NE(seats[i], nullptr);
    EXPECT_EQ(seats[i]->index, i);
    ExpectCounts(*pool, 2 - i, i + 1, 0);
    const auto bytes = static_cast<ptrdiff_t>(pool->layout().host_bytes());
    EXPECT_EQ(std::count(seats[i]->host, seats[i]->host + bytes, std::byte{0}), bytes);
    std::fill_n(seats[i]->device, pool->layout().device_bytes(), std::byte{1});
    slabs.insert({seats[i]->host, seats[i]->device});
  }
  EXPECT_EQ(slabs.size(), 6u);
  EXPECT_EQ(pool->TryAcquire(), nullptr);
  for (Seat* const seat : seats) pool->Return(seat, {});
  ExpectCounts(*pool, 0, 0, 3);
  EXPECT_EQ(pool->TryAcquire(), nullptr);  // Not before Collect().
  EXPECT_EQ(pool->Collect().value(), 0);
  ExpectCounts(*pool, 3, 0, 0);
}

TEST_F(SeatPoolTest, ASeatComesBackWhenAllItsEventsHavePassed) {
  const auto pool = NewPool(1);
  const auto a = device_->CreateStream().value(), b = device_->CreateStream().value();
  std::latch gate_a(1), gate_b(1);
  Hold(*a, gate_a);
  Hold(*b, gate_b);
  pool->Return(pool->TryAcquire(), {Mark(*a), Mark(*b)});
  EXPECT_EQ(pool->Collect().value(), 1);
  gate_a.count_down();
  Finish(*a);
  EXPECT_EQ(pool->Collect().value(), 1);
  ExpectCounts(*pool, 0, 0, 1);
  gate_b.count_down();
  Finish(*b);
  EXPECT_EQ(pool->Collect().value(), 0);
  ExpectCounts(*pool, 1, 0, 0);
}

TEST_F(SeatPoolTest, ASlowSeatHoldsBackOnlyItself) {
  const auto pool = NewPool(2);
  const auto slow = device_->CreateStream().value(), quick = device_->CreateStream().value();
  std::latch gate(1);
  Hold(*slow, gate);
  Seat* const held_back = pool->TryAcquire();
  pool->Return(held_back, {Mark(*slow)});
  for (int i = 0; i < 100; ++i) {
    Seat* const seat = pool->TryAcquire();
    ASSERT_NE(seat, nullptr);
    EXPECT_NE(seat, held_back);
    pool->Return(seat, {Mark(*quick)});
    Finish(*quick);
    EXPECT_EQ(pool->Collect().value(), 1);
    ExpectCounts(*pool, 1, 0, 1);
  }
  gate.count_down();
  Finish(*slow);
  EXPECT_EQ(pool->Collect().value(), 0);
}

TEST_F(SeatPoolTest, MakesNoDriverAllocationOnceWarm) {
  const auto pool = NewPool(1);
  const auto stream = device_->CreateStream().value();
  int64_t warm = 0;
  for (int i = 0; i < 100; ++i) {
    Seat* const seat = pool->TryAcquire();
    ASSERT_NE(seat, nullptr);
    pool->Return(seat, {Mark(*stream)});
    Finish(*stream);
    EXPECT_EQ(pool->Collect().value(), 0);
    if (i == 0) warm = device_->driver_allocations();
  }
  EXPECT_EQ(device_->driver_allocations(), warm);
}

TEST_F(SeatPoolTest, TellsTheHookOfEachReturnWithoutALock) {
  const auto pool = NewPool(2);
  std::vector<int> returning;
  pool->SetOnReturn([&] { returning.push_back(pool->counts().returning); });
  Seat* const first = pool->TryAcquire();
  Seat* const second = pool->TryAcquire();
  pool->Return(first, {});
  pool->Return(second, {});
  EXPECT_EQ(returning, (std::vector<int>{1, 2}));
  EXPECT_EQ(pool->Collect().value(), 0);
  pool->SetOnReturn(nullptr);
  pool->Return(pool->TryAcquire(), {});
  EXPECT_EQ(returning.size(), 2u);
}

TEST_F(SeatPoolTest, EndingTheHookWaitsForTheLastCall) {
  const auto pool = NewPool(1);
  std::latch running(1), gate(1);
  std::atomic<bool> ended = false, ran = false;
  pool->SetOnReturn([&] {
    running.count_down();
    gate.wait();
    ran = true;
  });
  std::thread returner([&] { pool->Return(pool->TryAcquire(), {}); });
  running.wait();
  std::thread ender([&] {
    pool->SetOnReturn(nullptr);
    EXPECT_TRUE(ran);
    ended = true;
  });
  EXPECT_FALSE(ended);
  gate.count_down();
  ender.join();
  returner.join();
}

TEST_F(SeatPoolTest, ADeviceErrorFreesTheSeatsAndIsReturnedOncePerCall) {
  const auto pool = NewPool(2);
  const auto stream = device_->CreateStream().value();
  Seat* const first = pool->TryAcquire();
  Seat* const second = pool->TryAcquire();
  pool->Return(first, {Mark(*stream)});
  pool->Return(second, {Mark(*stream), Mark(*stream)});
  const absl::Status fault = absl::DataLossError("an injected fault");
  device_->Fail(fault);
  EXPECT_EQ(pool->Collect().status(), fault);
  ExpectCounts(*pool, 2, 0, 0);
  EXPECT_EQ(pool->Collect().value(), 0);
}

TEST_F(SeatPoolTest, TheLastOwnerWaitsForPendingEvents) {
  auto pool = NewPool(2);
  const auto stream = device_->CreateStream().value();
  Seat* const seat = pool->TryAcquire();
  std::byte* const slab = seat->device;
  const size_t bytes = pool->layout().device_bytes();
  std::latch gate(1);
  Hold(*stream, gate);
  // Writes into the slab: a sanitizer sees it if that is freed too early.
  ASSERT_EQ(device_->Launch(stream->ref(), [=] { std::fill_n(slab, bytes, std::byte{1}); }),
            absl::OkStatus());
  const auto event = Mark(*stream);
  pool->Return(seat, {event});
  std::thread owner([last = std::exchange(pool, nullptr)]() mutable { last.reset(); });
  EXPECT_FALSE(event->Done().value());
  gate.count_down();
  owner.join();
  EXPECT_TRUE(event->Done().value());
}

TEST_F(SeatPoolTest, KeepsItsDevice) {
  auto pool = NewPool(1);
  const std::weak_ptr<SimDevice> alive = device_;
  device_.reset();
  pool->Return(pool->TryAcquire(), {});
  EXPECT_FALSE(alive.expired());
  pool.reset();
  EXPECT_TRUE(alive.expired());
}

TEST_F(SeatPoolTest, StagingStaysWithTheSeat) {
  const auto pool = NewPool(1);
  Seat* seat = pool->TryAcquire();
  seat->staging = std::make_unique<std::byte[]>(10);
  seat->staging_bytes = 10;
  pool->Return(seat, {});
  ASSERT_EQ(pool->Collect().value(), 0);
  seat = pool->TryAcquire();
  EXPECT_EQ(seat->staging_bytes, 10u);
  pool->Return(seat, {});
}

// Case D13: the third host allocation fails.
TEST_F(SeatPoolTest, AFailedCreateSaysWhichSeatsAndFreesTheOthers) {
  const absl::Status fault = absl::ResourceExhaustedError("host pinned memory: a fault");
  SeatPoolOptions options;
  options.slabs.layout = SmallLayout();
  options.slabs.seats = 4;
  options.slabs.group_bytes = 1;  // Each seat has an allocation of its own.
  device_ = SimDevice::Create({.fail_host_allocation = [&](size_t, int64_t call) {
    return call == 3 ? fault : absl::OkStatus();
  }});
  EXPECT_EQ(SeatPool::Create(device_, options).status(),
            absl::ResourceExhaustedError("seat 3 of 4: host pinned memory: a fault"));
  options.slabs.group_bytes = 2 * AlignUp(SmallLayout().host_bytes(), kSlabAlignment);
  device_ = SimDevice::Create({.fail_host_allocation = [&](size_t, int64_t call) {
    return call == 2 ? fault : absl::OkStatus();
  }});
  EXPECT_EQ(SeatPool::Create(device_, options).status(),
            absl::ResourceExhaustedError("seats 3 to 4 of 4: host pinned memory: a fault"));
  device_ = SimDevice::Create({.fail_device_allocation = [&](size_t, int64_t call) {
    return call == 2 ? fault : absl::OkStatus();
  }});
  EXPECT_EQ(SeatPool::Create(device_, SmallLayout(), 4, HostMemory::kPinned).status(),
            absl::ResourceExhaustedError("seat 2 of 4: host pinned memory: a fault"));
}

// Case D13: the fall-back.
TEST_F(SeatPoolTest, FallsBackToPageableMemoryWhereThatWillDo) {
  int64_t calls = 0;
  const absl::Status fault = absl::ResourceExhaustedError("no page-locking here");
  device_ = SimDevice::Create({.fail_host_allocation = [&](size_t, int64_t call) {
    calls = call;
    return call == 2 ? fault : absl::OkStatus();
  }});
  SeatPoolOptions options;
  options.slabs.layout = SmallLayout();
  options.slabs.seats = 3;
  options.slabs.group_bytes = 1;
  options.slabs.or_pageable = true;
  const auto pool = SeatPool::Create(device_, options).value();
  EXPECT_EQ(calls, 5);  // Two pinned ones, three pageable ones.
  EXPECT_EQ(pool->memory(), HostMemory::kPageable);
  EXPECT_EQ(pool->refused(), absl::ResourceExhaustedError("seat 2 of 3: no page-locking here"));
  const auto pinned = SeatPool::Create(device_, options).value();
  EXPECT_EQ(pinned->memory(), HostMemory::kPinned);
  EXPECT_EQ(pinned->refused(), absl::OkStatus());
  EXPECT_GE(pinned->host_time(), absl::ZeroDuration());
}

// Case D01: no rounding to powers of two. 8 slabs of 2^26 + 1 bytes.
TEST_F(SeatPoolTest, TakesNoMoreThanAPageASlab) {
  constexpr size_t kBytes = (size_t{1} << 26) + 1, kSeats = 8;
  std::atomic<size_t> asked = 0;
  device_ = SimDevice::Create({.fail_host_allocation = [&](size_t bytes, int64_t) {
    asked += bytes;
    return absl::OkStatus();
  }});
  SeatPoolOptions options;
  options.slabs.layout.batch = 1;
  options.slabs.layout.row = kBytes;
  options.slabs.seats = kSeats;
  // In one allocation; in eight, made by two threads.
  for (const size_t group : {size_t{1} << 30, size_t{1}}) {
    options.slabs.group_bytes = group;
    asked = 0;
    const auto pool = SeatPool::Create(device_, options).value();
    EXPECT_GE(asked, kSeats * kBytes);
    EXPECT_LE(asked, kSeats * (kBytes + 4096));
    std::set<std::byte*> slabs;
    for (size_t i = 0; i < kSeats; ++i) {
      Seat* const seat = pool->TryAcquire();
      seat->host[kBytes - 1] = std::byte{1};
      slabs.insert(seat->host);
      pool->Return(seat, {});
    }
    EXPECT_EQ(slabs.size(), kSeats);
  }
}

// Case D04: an odd size, in one allocation or many, is served to its last byte.
TEST_F(SeatPoolTest, ServesAllThatItWasMadeFor) {
  SeatPoolOptions options;
  options.slabs.layout.batch = 1;
  options.slabs.layout.row = 1000003;
  options.slabs.seats = 5;
  for (const size_t group : {size_t{1}, size_t{2100000}, size_t{1} << 30}) {
    options.slabs.group_bytes = group;
    const auto pool = SeatPool::Create(device_, options).value();
    std::vector<Seat*> seats;
    for (int i = 0; i < 5; ++i) {
      seats.push_back(pool->TryAcquire());
      std::fill_n(seats[i]->host, 1000003, static_cast<std::byte>(i + 1));
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(std::count(seats[i]->host, seats[i]->host + 1000003, static_cast<std::byte>(i + 1)),
                1000003);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(seats[i]->host) % kSlabAlignment, 0u);
      pool->Return(seats[i], {});
    }
  }
}

// Case D05: a batch of no bytes.
TEST_F(SeatPoolTest, SlabsOfNothingCostNoCallOfTheDriver) {
  const int64_t before = device_->driver_allocations();
  const auto pool = SeatPool::Create(device_, SlabLayout(), 3, HostMemory::kPinned).value();
  EXPECT_EQ(device_->driver_allocations(), before);
  Seat* const seat = pool->TryAcquire();
  EXPECT_EQ(seat->host, nullptr);
  EXPECT_EQ(seat->device, nullptr);
  pool->Return(seat, {});
}

TEST_F(SeatPoolTest, ServesSeveralThreads) {
  const auto pool = NewPool(3);
  std::atomic<int> returns = 0, held = 0;
  pool->SetOnReturn([&] { ++returns; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto stream = device_->CreateStream().value();
      for (int done = 0; done < 100;) {
        EXPECT_TRUE(pool->Collect().ok());
        Seat* const seat = pool->TryAcquire();
        if (seat == nullptr) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_LE(++held, 3);
        ++seat->staging_bytes;  // A race if two threads had the seat.
        --held;
        pool->Return(seat, {Mark(*stream)});
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(returns, 400);
  EXPECT_EQ(pool->Collect().value(), 0);
  ExpectCounts(*pool, 3, 0, 0);
}

using SeatPoolDeathTest = SeatPoolTest;

TEST_F(SeatPoolDeathTest, RefusesSeatsThatAreNotLent) {
  const auto pool = NewPool(1), other = NewPool(1);
  Seat* const seat = pool->TryAcquire();
  EXPECT_DEATH(other->Return(seat, {}), "a seat of another SeatPool");
  pool->Return(seat, {});
  EXPECT_DEATH(pool->Return(seat, {}), "a seat was returned twice");
}

TEST_F(SeatPoolDeathTest, MustNotEndWhileASeatIsHeld) {
  EXPECT_DEATH(NewPool(1)->TryAcquire(), "ended while one of its seats was held");
}

}  // namespace
}  // namespace penstock
