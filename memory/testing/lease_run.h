// Batches on the way through the seats of a pool, for the tests of both devices: is what a slab
// holds safe until the device has read it?
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/device.h"
#include "penstock/memory/seat_pool.h"

namespace penstock {

struct LeaseRun {
  int seats = 2;
  int batches = 200;
  size_t bytes = 4096;  // Of a batch.
  // Work that is queued before each copy, on the same stream.
  absl::Duration before = absl::ZeroDuration();
};

// Free once an event has passed; the device works all the time.
inline Seat* WaitForSeat(SeatPool& pool) {
  for (;;) {
    if (Seat* const seat = pool.TryAcquire()) return seat;
    const absl::StatusOr<int> returning = pool.Collect();
    EXPECT_TRUE(returning.ok()) << returning.status();
    if (!returning.ok()) return nullptr;
    std::this_thread::yield();
  }
}

// Fills each batch with `fill(batch, bytes)`, uploads it behind `run.before`, and lets a consumer
// on another stream copy to the host what it finds on the device. Returns that, batch by batch. The
// host never waits but for a seat.
template <class Fill>
Buffer RunLeases(const std::shared_ptr<Device>& device, const LeaseRun& run, Fill fill) {
  SlabLayout layout;
  layout.batch = 1;
  layout.row = run.bytes;
  const auto pool = SeatPool::Create(device, layout, run.seats, HostMemory::kPinned).value();
  const auto upload = device->CreateStream().value(), compute = device->CreateStream().value();
  // One allocation, so that thousands of batches cost no driver calls.
  Buffer found = device->AllocateHost(run.bytes * run.batches, HostMemory::kPinned).value();
  for (int i = 0; i < run.batches; ++i) {
    Seat* const seat = WaitForSeat(*pool);
    if (seat == nullptr) break;
    fill(i, seat->host);
    EXPECT_EQ(device->Occupy(upload->ref(), run.before), absl::OkStatus());
    EXPECT_EQ(device->CopyToDevice(seat->device, seat->host, run.bytes, upload->ref()),
              absl::OkStatus());
    auto ready = device->AcquireEvent().value();
    EXPECT_EQ(ready->Record(upload->ref()), absl::OkStatus());
    TensorView rows;
    rows.data = seat->device;
    rows.shape = {1, static_cast<int64_t>(run.bytes)};
    DeviceBatch batch(pool, seat, {}, std::move(ready), {{"rows", rows}});
    batch.WaitOn(compute->ref());
    EXPECT_EQ(device->CopyToHost(found.data() + run.bytes * i, batch.tensor("rows").data, run.bytes,
                                 compute->ref()),
              absl::OkStatus());
  }
  EXPECT_EQ(device->Synchronize(compute->ref()), absl::OkStatus());
  return found;
}

// Case D06: batch i holds byte i everywhere. Wrong without the wait for events in
// SeatPool::Collect(): the next batch is then written over one that is still to be copied.
inline void ExpectConstantBatches(const std::shared_ptr<Device>& device, const LeaseRun& run) {
  const Buffer found =
      RunLeases(device, run, [&](int i, std::byte* host) { std::memset(host, i, run.bytes); });
  int wrong = 0;
  for (int i = 0; i < run.batches; ++i) {
    const std::byte* const begin = found.data() + run.bytes * i;
    const auto same = std::count(begin, begin + run.bytes, static_cast<std::byte>(i));
    wrong += same == static_cast<ptrdiff_t>(run.bytes) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "of " << run.batches << " batches";
}

// Case D08: a small table of 64 shapes goes up with each batch, and is made anew for each.
inline void ExpectTablesOfTheirBatches(const std::shared_ptr<Device>& device, LeaseRun run) {
  struct Shape {
    int32_t height, width;
  };
  constexpr int kShapes = 64;
  const auto shape_of = [](int batch, int row) { return Shape{batch + row, batch * 3 - row}; };
  run.bytes = kShapes * sizeof(Shape);
  const Buffer found = RunLeases(device, run, [&](int i, std::byte* host) {
    for (int row = 0; row < kShapes; ++row) {
      const Shape shape = shape_of(i, row);
      std::memcpy(host + row * sizeof(Shape), &shape, sizeof shape);
    }
  });
  int wrong = 0;
  for (int i = 0; i < run.batches; ++i) {
    for (int row = 0; row < kShapes; ++row) {
      Shape shape;
      std::memcpy(&shape, found.data() + run.bytes * i + row * sizeof shape, sizeof shape);
      const Shape want = shape_of(i, row);
      wrong += shape.height == want.height && shape.width == want.width ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0) << "rows of " << run.batches << " batches";
}

}  // namespace penstock
