// The memory of CudaDevice: exact sizes, leases, downloads, registered ranges, nodes. Part of
// cuda_device_test.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/testing/cuda_device_fixture.h"
#include "penstock/memory/testing/lease_run.h"
#include "penstock/memory/testing/numa_maps.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPage = 4096;

// Kibibytes behind a key of /proc/self/status.
int64_t Status(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1));
  }
  return 0;
}

class CudaMemoryTest : public CudaDeviceTest {
 protected:
  // Host memory that is not this device's.
  static std::byte* Map(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
    void* const data = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(data, MAP_FAILED);
    return static_cast<std::byte*>(data);
  }
  // A batch goes the whole way.
  void RunABatch() { ExpectConstantBatches(device_, {.batches = 3, .bytes = 100000}); }
};

// Case D06: a spinning kernel of 50 ms before each of 200 copies.
TEST_F(CudaMemoryTest, NoBatchIsWrittenOverBeforeTheDeviceHasReadIt) {
  ExpectConstantBatches(device_, {.bytes = 1000000, .before = absl::Milliseconds(50)});
}

// Case D08.
TEST_F(CudaMemoryTest, TablesAreThoseOfTheirBatch) {
  ExpectTablesOfTheirBatches(device_, {.batches = 10000, .before = absl::Microseconds(100)});
}

// Case D01: 8 slabs of 2^26 + 1 bytes.
TEST_F(CudaMemoryTest, TakesNoMoreThanAPageASlab) {
  SlabLayout layout;
  layout.batch = 1;
  layout.row = (size_t{1} << 26) + 1;
  const int64_t before = Status("VmRSS");
  const auto pool = SeatPool::Create(device_, layout, 8, HostMemory::kPinned).value();
  const int64_t took = Status("VmRSS") - before;
  EXPECT_GE(took, 8 * 65536);
  EXPECT_LE(took, 8 * (65536 + 1 + 4) + 16384);  // The driver's own books besides.
  EXPECT_GT(pool->host_time(), absl::ZeroDuration());
}

// Case D03: sizes that alternate leave nothing behind.
TEST_F(CudaMemoryTest, TakesNoMoreTheMoreOftenItIsAsked) {
  int64_t warm = 0;
  for (int round = 0; round < 1000; ++round) {
    const Buffer three = device_->AllocateHost(3000000, HostMemory::kPinned).value();
    const Buffer five = device_->AllocateHost(5000000, HostMemory::kPinned).value();
    if (round == 20) warm = Status("VmRSS");
    if (round > 20) {
      ASSERT_LE(Status("VmRSS"), warm + 4096) << "round " << round;
    }
  }
}

// Case D05.
TEST_F(CudaMemoryTest, NothingIsNoCallOfTheDriver) {
  const int64_t before = device_->driver_allocations();
  device_->AllocateHost(0, HostMemory::kPinned).value().Reset();
  device_->AllocateDevice(0).value().Reset();
  device_->RegisterHost(nullptr, 0).value().Reset();
  const auto pool = SeatPool::Create(device_, SlabLayout(), 2, HostMemory::kPinned).value();
  EXPECT_EQ(device_->driver_allocations(), before);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

// Case D09: a download is there when its event is, and not before.
TEST_F(CudaMemoryTest, DownloadsAreRightOnceTheirEventIsDone) {
  const Buffer from = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
  const Buffer to = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
  const Buffer device = device_->AllocateDevice(kMiB).value();
  std::fill_n(from.data(), kMiB, std::byte{7});
  Occupy(stream_->ref(), absl::Milliseconds(50));
  ASSERT_EQ(device_->CopyToDevice(device.data(), from.data(), kMiB, stream_->ref()),
            absl::OkStatus());
  ASSERT_EQ(device_->CopyToHost(to.data(), device.data(), kMiB, stream_->ref()), absl::OkStatus());
  const auto event = Mark(stream_->ref());
  EXPECT_FALSE(event->Done().value());
  EXPECT_EQ(event->Wait(), absl::OkStatus());
  EXPECT_EQ(std::count(to.data(), to.data() + kMiB, std::byte{7}), static_cast<ptrdiff_t>(kMiB));
}

TEST_F(CudaMemoryTest, CopiesWithinTheDeviceInStreamOrder) {
  const Buffer host = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
  const Buffer first = device_->AllocateDevice(kMiB).value();
  const Buffer second = device_->AllocateDevice(kMiB).value();
  std::fill_n(host.data(), kMiB, std::byte{7});
  Occupy(stream_->ref(), absl::Milliseconds(20));
  ASSERT_EQ(device_->CopyToDevice(first.data(), host.data(), kMiB, stream_->ref()),
            absl::OkStatus());
  ASSERT_EQ(device_->CopyOnDevice(second.data(), first.data() + 1, kMiB - 1, stream_->ref()),
            absl::OkStatus());
  ASSERT_EQ(device_->CopyToHost(host.data(), second.data(), kMiB - 1, stream_->ref()),
            absl::OkStatus());
  ASSERT_EQ(Mark(stream_->ref())->Wait(), absl::OkStatus());
  EXPECT_EQ(std::count(host.data(), host.data() + kMiB - 1, std::byte{7}),
            static_cast<ptrdiff_t>(kMiB - 1));
}

TEST_F(CudaMemoryTest, SaysHowMuchOfTheDeviceIsFree) {
  const int64_t before = device_->free_bytes();
  const Buffer taken = device_->AllocateDevice(256 * kMiB).value();
  const int64_t after = device_->free_bytes();
  EXPECT_GT(after, 0);
  EXPECT_LE(after, before - static_cast<int64_t>(255 * kMiB));
}

// Case D14: 10 TB. Whether the kernel promises that much or not, none of it is touched.
TEST_F(CudaMemoryTest, ARefusedPageLockLeavesNoErrorBehind) {
  const absl::Status refused =
      device_->AllocateHost(size_t{10'000'000'000'000}, HostMemory::kPinned).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("host pinned memory: 10000000000000 bytes asked, 0 bytes held so far: "));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  RunABatch();
}

// Case D15: ranges of somebody else's memory.
TEST_F(CudaMemoryTest, RegistersEachRangeOnce) {
  std::byte* const data = Map(4 * kPage);
  const auto type_of = [](const void* at) {
    cudaPointerAttributes attributes = {};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, at), cudaSuccess);
    return attributes.type;
  };
  const auto refused = [&](std::byte* at, size_t bytes) {
    const absl::Status status = device_->RegisterHost(at, bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    return std::string(status.message());
  };
  Buffer registered = device_->RegisterHost(data, 2 * kPage).value();
  EXPECT_EQ(type_of(data), cudaMemoryTypeHost);
  EXPECT_THAT(refused(data, 2 * kPage), HasSubstr("cudaErrorHostMemoryAlreadyRegistered"));
  EXPECT_THAT(refused(data + kPage, 2 * kPage), HasSubstr("cudaError"));
  EXPECT_THAT(refused(data + 2 * kPage + 1, 10), HasSubstr("expected the start of a page"));
  const Buffer device = device_->AllocateDevice(kMiB).value();
  EXPECT_THAT(refused(device.data(), kPage), HasSubstr("cudaError"));
  registered.Reset();
  EXPECT_NE(type_of(data), cudaMemoryTypeHost);
  EXPECT_TRUE(device_->RegisterHost(data, 4 * kPage).ok());
  munmap(data, 4 * kPage);
  RunABatch();
}

// Case D15: what may only be read.
TEST_F(CudaMemoryTest, RegistersReadOnlyMemoryOrSaysWhyNot) {
  std::byte* const data = Map(kMiB);
  std::fill_n(data, kMiB, std::byte{9});
  ASSERT_EQ(mprotect(data, kMiB, PROT_READ), 0);
  int supported = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&supported, cudaDevAttrHostRegisterReadOnlySupported, 0),
            cudaSuccess);
  const absl::StatusOr<Buffer> registered = device_->RegisterHost(data, kMiB);
  if (supported != 0) {
    EXPECT_EQ(registered.status(), absl::OkStatus());
  }
  if (!registered.ok()) {
    EXPECT_EQ(registered.status().code(), absl::StatusCode::kFailedPrecondition);
  } else {
    const Buffer device = device_->AllocateDevice(kMiB).value();
    const Buffer back = device_->AllocateHost(kMiB, HostMemory::kPinned).value();
    ASSERT_EQ(device_->CopyToDevice(device.data(), data, kMiB, stream_->ref()), absl::OkStatus());
    ASSERT_EQ(device_->CopyToHost(back.data(), device.data(), kMiB, stream_->ref()),
              absl::OkStatus());
    Finish(stream_->ref());
    EXPECT_EQ(std::count(back.data(), back.data() + kMiB, std::byte{9}),
              static_cast<ptrdiff_t>(kMiB));
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

// Case D18: slabs lie on the device's node, also after 100 batches.
TEST_F(CudaMemoryTest, SlabsLieOnTheDevicesNode) {
  if (CountNumaNodes() < 2) GTEST_SKIP() << "this machine has one NUMA node";
  char bus_id[32] = "";
  ASSERT_EQ(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0), cudaSuccess);
  std::ifstream file("/sys/bus/pci/devices/" + absl::AsciiStrToLower(bus_id) + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) GTEST_SKIP() << "the kernel does not say where the device is";
  SlabLayout layout;
  layout.batch = 1;
  layout.row = 8 * kMiB;
  const auto pool = SeatPool::Create(device_, layout, 4, HostMemory::kPinned).value();
  for (int i = 0; i < 100; ++i) {
    Seat* const seat = WaitForSeat(*pool);
    ASSERT_EQ(device_->CopyToDevice(seat->device, seat->host, layout.row, stream_->ref()),
              absl::OkStatus());
    pool->Return(seat, {Mark(stream_->ref())});
  }
  Finish(stream_->ref());
  ASSERT_EQ(pool->Collect().value(), 0);
  for (int i = 0; i < 4; ++i) {
    Seat* const seat = pool->TryAcquire();
    const std::map<int, int64_t> pages = PagesByNode(seat->host);
    EXPECT_EQ(pages.size(), 1u);
    EXPECT_EQ(pages.count(node), 1u) << "seat " << i;
    pool->Return(seat, {});
  }
}

// A late kernel of the consumer is found out, on this device as on the other.
TEST_F(CudaMemoryTest, LeasesAreChecked) {
  SeatPoolOptions options;
  options.slabs.layout.batch = 1;
  options.slabs.layout.row = 9 * kMiB + 5;
  options.check_leases = true;
  options.node = "normalize";
  const auto pool = SeatPool::Create(device_, options).value();
  cudaStream_t compute = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking), cudaSuccess);
  const auto lend = [&](bool late) {
    Seat* const seat = WaitForSeat(*pool);
    const absl::Status status = pool->CheckLease(*seat);
    BatchInfo info;
    info.sequence = 4;
    DeviceBatch batch(pool, seat, std::move(info), Mark(stream_->ref()), {});
    batch.WaitOn(compute);
    std::byte* const last = seat->device + 9 * kMiB + 4;
    batch.Release();
    if (late) {
      while (pool->Collect().value() > 0) std::this_thread::yield();
      EXPECT_EQ(cudaMemsetAsync(last, 1, 1, compute), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(compute), cudaSuccess);
    }
    return status;
  };
  EXPECT_EQ(lend(false), absl::OkStatus());
  EXPECT_EQ(lend(true), absl::OkStatus());
  const absl::Status status = lend(false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("node 'normalize', batch 4: its device memory was written after it was given "
                "back: byte 9437188 is 0x01, expected 0xdb; stream 0x"));
  while (pool->Collect().value() > 0) std::this_thread::yield();
  EXPECT_EQ(cudaStreamDestroy(compute), cudaSuccess);
}

}  // namespace
}  // namespace penstock
