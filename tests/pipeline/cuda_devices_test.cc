// A pipeline on several GPUs, and on one of several. Skips itself where there are too few.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/testing/numa_maps.h"
#include "penstock/memory/testing/thread_cpus.h"
#include "penstock/tests/pipeline/cuda_fixture.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

// Whether this process has used the device; asking the driver does not.
bool HasContext(int ordinal) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto find = [driver](const char* name) { return dlsym(driver, name); };
  auto* const init = reinterpret_cast<int (*)(unsigned)>(find("cuInit"));
  auto* const get = reinterpret_cast<int (*)(int*, int)>(find("cuDeviceGet"));
  auto* const get_state =
      reinterpret_cast<int (*)(int, unsigned*, int*)>(find("cuDevicePrimaryCtxGetState"));
  int device = 0, active = 0;
  unsigned flags = 0;
  const bool good =
      init(0) == 0 && get(&device, ordinal) == 0 && get_state(device, &flags, &active) == 0;
  return !good || active != 0;
}

class CudaOneDeviceTest : public CudaPipelineTest {};

class CudaTwoDevicesTest : public CudaPipelineTest {
 protected:
  CudaTwoDevicesTest() : CudaPipelineTest(2) {}
  // Two streams: number d is of device d.
  static std::vector<std::unique_ptr<ConsumerStream>> Streams() {
    std::vector<std::unique_ptr<ConsumerStream>> streams;
    for (const int d : {0, 1}) {
      EXPECT_EQ(cudaSetDevice(d), cudaSuccess);
      streams.push_back(std::make_unique<ConsumerStream>());
    }
    return streams;
  }
};

int DeviceOf(const void* address) {
  cudaPointerAttributes attributes = {};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, address), cudaSuccess);
  return attributes.type == cudaMemoryTypeDevice ? attributes.device : -1;
}

// F02, F12. One thread serves both in turn, 1000 batches: each on its own device, with the bytes
// that the host makes.
TEST_F(CudaTwoDevicesTest, OneThreadServesBothInTurn) {
  options_.epochs = 50;
  const RunResult host = OnTheHost();
  const auto streams = Streams();
  const auto pipeline = Make({0, 1});
  for (int epoch = 0; epoch < 50; ++epoch) {
    for (int step = 0; step < kBatches; ++step) {
      const int d = step % 2;
      auto batch = pipeline->Next(Of(d));
      ASSERT_TRUE(batch.ok() && *batch) << batch.status();
      EXPECT_EQ((*batch)->info().sequence, epoch * kBatches + step);
      (*batch)->WaitOn(StreamRef(*streams[d]));
      ExpectSame(**batch, host, *streams[d]);
      for (const auto& [name, view] : (*batch)->tensors()) {
        EXPECT_EQ(DeviceOf(view.data), d) << name;
        EXPECT_EQ(view.device.device_id, d) << name;
      }
      (*batch)->Release();
      EXPECT_EQ((*batch)->status(), absl::OkStatus());
    }
    for (const int d : {0, 1}) EXPECT_FALSE(pipeline->Next(Of(d)).value().has_value());
  }
  EXPECT_EQ(pipeline->Stats().driver_allocations_after_warmup, 0);
}

// A batch that the other device's stream has waited for: its seat is not used again before that
// stream has passed, though no event of its own device can tell.
TEST_F(CudaTwoDevicesTest, AStreamOfTheOtherDeviceKeepsTheSeatToo) {
  options_.epochs = 5;
  const RunResult host = OnTheHost();
  const auto streams = Streams();
  const auto pipeline = Make({0, 1});
  for (int i = 0; i < 5 * kBatches / 2 + 5; ++i) {
    auto batch = pipeline->Next(Of(0));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) continue;
    (*batch)->WaitOn(StreamRef(*streams[1]));
    std::string bytes((*batch)->tensor("image").bytes(), '\0');
    ASSERT_EQ(cudaMemcpyAsync(bytes.data(), (*batch)->tensor("image").data, bytes.size(),
                              cudaMemcpyDeviceToHost, *streams[1]),
              cudaSuccess);
    ASSERT_EQ(options_.devices[1]->Occupy(StreamRef(*streams[1]), absl::Milliseconds(2)),
              absl::OkStatus());
    const int64_t sequence = (*batch)->info().sequence;
    (*batch)->Release();  // Waits, since no event marks the stream.
    EXPECT_EQ(cudaStreamQuery(*streams[1]), cudaSuccess);
    EXPECT_EQ(bytes, host.batches[sequence].bytes[0]);
  }
}

// The consumer of device 0 holds all it can get: device 1 has all of its batches all the same.
TEST_F(CudaTwoDevicesTest, AConsumerThatHoldsItsBatchesHoldsBackNobodyElse) {
  options_.epochs = 20;
  const auto pipeline = Make({0, 1});
  std::vector<DeviceBatch> held;
  for (int i = 0; i < kSeats; ++i) held.push_back(*std::move(*pipeline->Next(Of(0))));
  int batches = 0, ends = 0;
  while (ends < 20) {
    auto batch = pipeline->Next(Of(1));
    ASSERT_TRUE(batch.ok()) << batch.status();
    ++(*batch ? batches : ends);
  }
  EXPECT_EQ(batches, 20 * kBatches / 2);
  EXPECT_EQ(pipeline->Stats("", 0).batches, kSeats);
  held.clear();
  EXPECT_EQ(pipeline->Next(Of(0)).value()->info().sequence, 2 * kSeats);
}

// The library leaves the caller's current device alone, whichever it works on.
TEST_F(CudaTwoDevicesTest, TheCallersDeviceStays) {
  std::thread([&] {
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    const auto pipeline = Make({0, 1});
    for (const int d : {0, 1}) {
      auto batch = pipeline->Next(Of(d));
      ASSERT_TRUE(batch.ok() && *batch) << batch.status();
      EXPECT_EQ((*batch)->Wait(), absl::OkStatus());
      (*batch)->Release();
      int current = -1;
      EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
      EXPECT_EQ(current, 1);
    }
    // Where none is named it is the caller's.
    options_.devices.clear();
    const auto graph = ParseGraph(Text(), "test", {}, registry_);
    const auto one = Pipeline::Create(*graph, options_);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ((*one)->Info().devices, std::vector<std::string>{"cuda:1"});
  }).join();
}

TEST_F(CudaOneDeviceTest, ADeviceIsRefusedTwice) {
  const auto graph = ParseGraph(Text(), "test", {}, registry_);
  options_.devices = {OpenDevice("cuda:0").value(), OpenDevice("cuda:0").value()};
  EXPECT_EQ(
      Pipeline::Create(*graph, options_).status(),
      absl::InvalidArgumentError("devices: numbers 0 and 1 are cuda:0; expected each device once"));
}

// F05.
TEST_F(CudaOneDeviceTest, ANumberThatIsNotThereSaysWhatIs) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  const absl::Status refused = OpenDevice(absl::StrCat("cuda:", count)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("asked for cuda:", count, ", ", count, " device")));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("CUDA_VISIBLE_DEVICES"));
}

// The CPUs of the device's node that this process may use, as the kernel lists them; all of them
// where none is. Empty: the kernel does not say where the device is.
std::string CpusNear(int ordinal) {
  char bus_id[32] = "";
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, ordinal), cudaSuccess);
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + absl::AsciiStrToLower(bus_id) + "/numa_node") >> node;
  if (node < 0) return "";
  std::string list;
  std::getline(std::ifstream(absl::StrCat("/sys/devices/system/node/node", node, "/cpulist")),
               list);
  const std::vector<int> of_node = ParseCpuList(list), allowed = AllowedCpus();
  std::vector<int> both;
  std::set_intersection(of_node.begin(), of_node.end(), allowed.begin(), allowed.end(),
                        std::back_inserter(both));
  return both.empty() ? CpusOfThisThread() : CpuListText(both);
}

TEST_F(CudaOneDeviceTest, IoThreadsAreNearTheDevice) {
  if (CountNumaNodes() < 2) GTEST_SKIP() << "this machine has one NUMA node";
  const std::string near = CpusNear(0);
  if (near.empty()) GTEST_SKIP() << "the kernel does not say where the device is";
  const auto pipeline = Make({0});
  EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{near, near}));
}

TEST_F(CudaTwoDevicesTest, IoThreadsOfEachAreNearIt) {
  if (CountNumaNodes() < 2) GTEST_SKIP() << "this machine has one NUMA node";
  const std::string near[] = {CpusNear(0), CpusNear(1)};
  if (near[0].empty() || near[1].empty()) {
    GTEST_SKIP() << "the kernel does not say where the devices are";
  }
  const auto pipeline = Make({0, 1});
  EXPECT_EQ(CpusOfThreads("penstock-io"), (std::multiset<std::string>{near[0], near[1]}));
}

using CudaOneDeviceDeathTest = CudaOneDeviceTest;
using CudaTwoDevicesDeathTest = CudaTwoDevicesTest;

// In processes of their own: a context stays until the process ends.
TEST_F(CudaOneDeviceDeathTest, WhatNeedsNoDeviceTouchesNone) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [this] {
    (void)OpenDevice("cuda:99");
    if (OnTheHost().batches.size() != kBatches) std::exit(2);
    std::exit(HasContext(0) ? 3 : 0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

// F01. A run on device 1, from a fresh thread whose current device is 0: none of the library's
// threads makes a context on device 0, nor does one that ends in an error.
TEST_F(CudaTwoDevicesDeathTest, ARunOnOneDeviceTouchesNoOther) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* decode : {"", "fail_on_label: 7"}) {
    const auto run = [this, decode] {
      absl::Status status;
      std::thread([&] {
        const auto pipeline = Make({1}, Text(decode));
        const auto stream = options_.devices[0]->CreateStream().value();
        for (int i = 0; i <= kBatches && status.ok(); ++i) {
          auto batch = pipeline->Next(absl::Seconds(30));
          status = batch.status();
          if (batch.ok() && *batch) (*batch)->WaitOn(stream->ref());
        }
      }).join();
      if (status.ok() != (*decode == '\0')) std::exit(2);
      if (HasContext(0)) std::exit(3);
      std::exit(HasContext(1) ? 0 : 4);  // Else the question proves nothing.
    };
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "") << decode;
  }
}

}  // namespace
}  // namespace penstock::testing
