// Needs a CUDA device, and skips itself where there is none.
#include "penstock/memory/cuda_device.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "absl/time/time.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/testing/cuda_device_fixture.h"

namespace penstock {
namespace {

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  EXPECT_EQ(device_->name(), "cuda:0");
  EXPECT_EQ(device_->kind(), DeviceKind::kCuda);
  EXPECT_EQ(device_->dl_device().device_type, kDLCUDA);
  EXPECT_EQ(device_->dl_device().device_id, 0);
  EXPECT_EQ(CudaDevice::Create(1000).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaDeviceTest, StreamsGiveWayToTheConsumers) {
  int lowest = 0, highest = 0, priority = 1;
  unsigned flags = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&lowest, &highest), cudaSuccess);
  auto* const handle = static_cast<cudaStream_t>(stream_->ref().handle());
  ASSERT_EQ(cudaStreamGetPriority(handle, &priority), cudaSuccess);
  EXPECT_EQ(priority, lowest);
  ASSERT_EQ(cudaStreamGetFlags(handle, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamNonBlocking);
}

TEST_F(CudaDeviceTest, CopiesBothWays) {
  const size_t bytes = 66 * kMiB + 3;  // Past what tells whether huge pages are slow.
  const Buffer from = device_->AllocateHost(bytes, HostMemory::kPinned).value();
  EXPECT_EQ(std::count(from.data(), from.data() + bytes, std::byte{0}),
            static_cast<ptrdiff_t>(bytes));
  for (size_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::byte>(i * 7 + i / 251);
  const Buffer device = device_->AllocateDevice(bytes).value();
  for (const HostMemory kind : {HostMemory::kPinned, HostMemory::kPageable}) {
    const Buffer to = device_->AllocateHost(bytes, kind).value();
    EXPECT_EQ(device_->CopyToDevice(device.data(), from.data(), bytes, stream_->ref()),
              absl::OkStatus());
    EXPECT_EQ(device_->CopyToHost(to.data(), device.data(), bytes, stream_->ref()),
              absl::OkStatus());
    Finish(stream_->ref());
    EXPECT_TRUE(std::equal(from.data(), from.data() + bytes, to.data()));
  }
}

TEST_F(CudaDeviceTest, PinnedMemoryIsPinned) {
  const auto kind_of = [](const void* data) {
    cudaPointerAttributes attributes = {};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
    return attributes.type;
  };
  Buffer pinned = device_->AllocateHost(kMiB + 1, HostMemory::kPinned).value();
  const Buffer pageable = device_->AllocateHost(kMiB, HostMemory::kPageable).value();
  const Buffer device = device_->AllocateDevice(kMiB).value();
  EXPECT_EQ(kind_of(pinned.data()), cudaMemoryTypeHost);
  EXPECT_EQ(kind_of(pinned.data() + kMiB), cudaMemoryTypeHost);
  EXPECT_NE(kind_of(pageable.data()), cudaMemoryTypeHost);
  EXPECT_EQ(kind_of(device.data()), cudaMemoryTypeDevice);
  const std::byte* const was = pinned.data();
  pinned.Reset();
  EXPECT_NE(kind_of(was), cudaMemoryTypeHost);
}

TEST_F(CudaDeviceTest, OccupyTakesItsTime) {
  const auto start = Stamp(stream_->ref());
  Occupy(stream_->ref(), absl::Milliseconds(20));
  const auto end = Stamp(stream_->ref());
  Occupy(stream_->ref(), -absl::Seconds(1));  // As 0.
  Finish(stream_->ref());
  EXPECT_GE(end->Since(*start).value(), absl::Milliseconds(19));
  EXPECT_LE(end->Since(*start).value(), absl::Milliseconds(40));
}

TEST_F(CudaDeviceTest, AnEventOrdersTwoStreams) {
  const auto other = device_->CreateStream().value();
  const auto start = Stamp(stream_->ref());
  Occupy(stream_->ref(), absl::Milliseconds(50));
  const auto event = Mark(stream_->ref());
  EXPECT_EQ(event->Block(other->ref()), absl::OkStatus());
  const auto end = Stamp(other->ref());
  Finish(other->ref());
  EXPECT_TRUE(event->Done().value());
  EXPECT_GE(end->Since(*start).value(), absl::Milliseconds(49));
}

TEST_F(CudaDeviceTest, StreamsOverlap) {
  const auto other = device_->CreateStream().value();
  const auto start = Stamp(stream_->ref());
  Occupy(stream_->ref(), absl::Milliseconds(50));
  Occupy(other->ref(), absl::Milliseconds(50));
  const auto end = Stamp(stream_->ref()), other_end = Stamp(other->ref());
  Finish(stream_->ref());
  Finish(other->ref());
  EXPECT_LE(end->Since(*start).value(), absl::Milliseconds(90));
  EXPECT_LE(other_end->Since(*start).value(), absl::Milliseconds(90));
}

TEST_F(CudaDeviceTest, EventsThatWereNeverRecordedAreDone) {
  Occupy(stream_->ref(), absl::Milliseconds(100));
  auto event = Mark(stream_->ref());
  const Event* const first = event.get();
  EXPECT_FALSE(event->Done().value());
  event.reset();
  event = device_->AcquireEvent().value();  // The same one, as new.
  EXPECT_EQ(event.get(), first);
  EXPECT_TRUE(event->Done().value());
  EXPECT_EQ(event->Wait(), absl::OkStatus());
  EXPECT_EQ(event->Block(stream_->ref()), absl::OkStatus());
  const auto never = device_->AcquireTimingEvent().value();
  EXPECT_TRUE(never->Done().value());
  EXPECT_EQ(Stamp(stream_->ref())->Since(*never).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const auto started = Stamp(StreamRef::PerThreadDefault());
  const auto busy = Stamp(stream_->ref());
  EXPECT_FALSE(busy->Done().value());
  EXPECT_EQ(busy->Since(*started).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);  // "Not ready" is not left behind.
}

TEST_F(CudaDeviceTest, TakesDefaultStreams) {
  CUstream_st* const null_variable = nullptr;
  for (const StreamRef stream :
       {StreamRef::LegacyDefault(), StreamRef::PerThreadDefault(), StreamRef(null_variable)}) {
    Occupy(stream, absl::Milliseconds(1));
    const auto event = Mark(stream);
    EXPECT_EQ(event->Block(stream_->ref()), absl::OkStatus());
    Finish(stream_->ref());
    EXPECT_TRUE(event->Done().value());
  }
}

TEST_F(CudaDeviceTest, AStreamEndsWhenItsWorkHasEnded) {
  const auto event = device_->AcquireEvent().value();
  Occupy(stream_->ref(), absl::Milliseconds(20));
  EXPECT_EQ(event->Record(stream_->ref()), absl::OkStatus());
  stream_.reset();
  EXPECT_TRUE(event->Done().value());
}

TEST_F(CudaDeviceTest, SaysWhatRanOutAndLeavesNoError) {
  const Buffer held = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
  const absl::Status device = device_->AllocateDevice(size_t{1} << 50).status();
  EXPECT_EQ(device, absl::ResourceExhaustedError(
                        "device memory: 1125899906842624 bytes asked, 0 bytes held so far: "
                        "cudaErrorMemoryAllocation(2): out of memory, in cudaMalloc"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  const absl::Status host = device_->AllocateHost(size_t{1} << 60, HostMemory::kPinned).status();
  EXPECT_EQ(host, absl::ResourceExhaustedError(
                      "host pinned memory: 1152921504606846976 bytes asked, 1048576 bytes held so "
                      "far: Cannot allocate memory"));
}

TEST_F(CudaDeviceTest, RefusesStreamsOfOtherDevices) {
  const StreamRef sim(DeviceKind::kSim, this);
  EXPECT_EQ(device_->Occupy(sim, absl::ZeroDuration()).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(device_->CopyToDevice(nullptr, nullptr, 1, sim).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(device_->AcquireEvent().value()->Record(sim).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(CudaDeviceTest, BatchesGoRoundWithoutDriverAllocations) {
  SlabLayout layout;
  layout.batch = 8;
  layout.row = 100 * 1000;
  const auto pool = SeatPool::Create(device_, layout, 2, HostMemory::kPinned).value();
  const Buffer back = device_->AllocateHost(layout.row_bytes(), HostMemory::kPinned).value();
  cudaStream_t compute = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking), cudaSuccess);
  int64_t warm = 0;
  for (int i = 0; i < 100; ++i) {
    Seat* const seat = pool->TryAcquire();
    ASSERT_NE(seat, nullptr);
    std::fill_n(seat->host, layout.row_bytes(), static_cast<std::byte>(i));
    ASSERT_EQ(device_->CopyToDevice(seat->device, seat->host, layout.row_bytes(), stream_->ref()),
              absl::OkStatus());
    TensorView rows;
    rows.data = seat->device;
    rows.shape = {8, 100 * 1000};
    DeviceBatch batch(pool, seat, {}, Mark(stream_->ref()), {{"rows", rows}});
    batch.WaitOn(compute);
    ASSERT_EQ(device_->CopyToHost(back.data(), batch.tensor("rows").data, back.size(), compute),
              absl::OkStatus());
    batch.Release();
    EXPECT_EQ(batch.status(), absl::OkStatus());
    Finish(compute);
    EXPECT_EQ(std::count(back.data(), back.data() + back.size(), static_cast<std::byte>(i)),
              static_cast<ptrdiff_t>(back.size()));
    EXPECT_EQ(pool->Collect().value(), 0);
    if (i == 0) warm = device_->driver_allocations();
  }
  EXPECT_EQ(device_->driver_allocations(), warm);
  EXPECT_EQ(cudaStreamDestroy(compute), cudaSuccess);
}

}  // namespace
}  // namespace penstock
