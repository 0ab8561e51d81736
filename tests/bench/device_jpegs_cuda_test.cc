// Case D20 (other loaders leaked device memory until they failed): memory stays as it is over
// thousands of files, good and damaged. Skips itself where there is no CUDA device.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/open_device.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"
#include "penstock/tests/bench/device_jpegs.h"

namespace penstock {
namespace {

constexpr int kBatch = 50, kFiles = 5000, kWarm = 100;
constexpr int64_t kMallocKeeps = 4 << 20;

struct Memory {
  int64_t resident = 0, device_free = 0;

  static Memory Now() {
    Memory memory;
    int64_t total = 0;
    std::ifstream("/proc/self/statm") >> total >> memory.resident;
    memory.resident *= sysconf(_SC_PAGESIZE);
    size_t free = 0, all = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
    memory.device_free = static_cast<int64_t>(free);
    return memory;
  }
};

void DecodeOften(DeviceJpegs& jpegs, absl::Span<const std::byte> file, bool good) {
  const auto size = jpegs.Probe(file);
  ASSERT_TRUE(size.ok()) << size.status();
  const std::vector<JpegTask> tasks(kBatch, {file, *size, Region::Whole(*size)});
  Memory before;
  for (int done = 0; done < kFiles; done += kBatch) {
    if (done == kWarm) before = Memory::Now();
    const auto outcomes = jpegs.Decode(tasks);
    ASSERT_TRUE(outcomes.ok()) << outcomes.status();
    for (const JpegOutcome& outcome : *outcomes) ASSERT_EQ(outcome.status == 0, good);
  }
  const Memory after = Memory::Now();
  EXPECT_EQ(after.device_free, before.device_free);
  EXPECT_LE(after.resident - before.resident, kMallocKeeps);
}

TEST(DeviceJpegsCudaTest, D20MemoryStaysAsItIs) {
  auto device = OpenDevice("cuda:0");
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto jpegs = DeviceJpegs::Create(*std::move(device), 1 << 20);
  ASSERT_TRUE(jpegs.ok()) << jpegs.status();
  const std::vector<std::byte> file = MakeJpeg({.width = 160, .height = 120});
  DecodeOften(**jpegs, file, true);
  DecodeOften(**jpegs, absl::MakeConstSpan(file).first(file.size() * 3 / 4), false);
}

}  // namespace
}  // namespace penstock
