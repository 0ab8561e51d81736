#include "penstock/memory/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kMiB = size_t{1} << 20;

// The line `key: ...` of the mapping that holds `data`, from the kernel's own account.
std::string MapInfo(const std::byte* data, const std::string& key) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<uintptr_t>(data);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin <= address && address < end;
    } else if (inside && line.rfind(key + ":", 0) == 0) {
      return line;
    }
  }
  return "";
}

size_t ResidentPages(std::byte* data, size_t bytes) {
  std::vector<unsigned char> resident((bytes + 4095) / 4096);
  EXPECT_EQ(mincore(data, bytes, resident.data()), 0);
  return static_cast<size_t>(std::count_if(resident.begin(), resident.end(),
                                           [](unsigned char page) { return (page & 1) != 0; }));
}

bool KernelHasHugePages() {
  return std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled").good();
}

TEST(MapHostMemory, IsZeroedAndExact) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, 2 * kMiB, 2 * kMiB + 1}) {
    SCOPED_TRACE(bytes);
    std::byte* const data = MapHostMemory(bytes).value();
    const auto address = reinterpret_cast<uintptr_t>(data);
    EXPECT_EQ(address % (bytes >= 2 * kMiB ? 2 * kMiB : 4096), 0u);
    EXPECT_EQ(ResidentPages(data, bytes), 0u);
    EXPECT_EQ(std::count(data, data + bytes, std::byte{0}), static_cast<ptrdiff_t>(bytes));
    data[bytes - 1] = std::byte{1};
    UnmapHostMemory(data, bytes);
    unsigned char page = 0;
    EXPECT_EQ(mincore(data, 1, &page), -1) << "still mapped";
  }
}

TEST(MapHostMemory, RefusesWhatThereIsNot) {
  EXPECT_EQ(MapHostMemory(size_t{1} << 60).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MapHostMemory(SIZE_MAX).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MapHostMemory(SIZE_MAX - kMiB).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TouchHostMemory, MakesEveryPagePresentAndKeepsTheCallersCpus) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const size_t bytes = 33 * kMiB + 5;  // Three threads.
  std::byte* const data = MapHostMemory(bytes).value();
  TouchHostMemory(data, bytes, {.slow = absl::InfiniteDuration()});
  EXPECT_EQ(ResidentPages(data, bytes), 33 * 256u + 1);
  EXPECT_EQ(std::count(data, data + bytes, std::byte{0}), static_cast<ptrdiff_t>(bytes));
  UnmapHostMemory(data, bytes);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(TouchHostMemory, TakesHugePagesWhileTheyAreFast) {
  if (!KernelHasHugePages()) GTEST_SKIP() << "this kernel has no huge pages";
  const size_t bytes = 66 * kMiB;
  std::byte* const data = MapHostMemory(bytes).value();
  EXPECT_TRUE(TouchHostMemory(data, bytes, {.slow = absl::InfiniteDuration()}));
  EXPECT_THAT(MapInfo(data, "VmFlags"), HasSubstr(" hg"));
  EXPECT_THAT(MapInfo(data + bytes - 1, "VmFlags"), HasSubstr(" hg"));
  UnmapHostMemory(data, bytes);
}

TEST(TouchHostMemory, GoesOnWithSmallPagesWhenHugeOnesAreSlow) {
  if (!KernelHasHugePages()) GTEST_SKIP() << "this kernel has no huge pages";
  const size_t bytes = 66 * kMiB;
  std::byte* const data = MapHostMemory(bytes).value();
  EXPECT_FALSE(TouchHostMemory(data, bytes, {.slow = absl::ZeroDuration()}));
  EXPECT_THAT(MapInfo(data, "VmFlags"), HasSubstr(" hg"));
  EXPECT_THAT(MapInfo(data + bytes - 1, "VmFlags"), HasSubstr(" nh"));
  EXPECT_EQ(ResidentPages(data, bytes), 66 * 256u);
  UnmapHostMemory(data, bytes);
}

TEST(TouchHostMemory, ObeysItsOptions) {
  const size_t bytes = 4 * kMiB;
  std::byte* const data = MapHostMemory(bytes).value();
  // A CPU that no machine has counts as none; too little memory tells nothing about speed.
  EXPECT_FALSE(TouchHostMemory(data, bytes, {.cpus = {100000}, .huge_pages = false}));
  EXPECT_EQ(ResidentPages(data, bytes), 4 * 256u);
  EXPECT_TRUE(TouchHostMemory(data, bytes, {.max_threads = 0, .slow = absl::ZeroDuration()}));
  UnmapHostMemory(data, bytes);
}

TEST(ParseCpuList, ReadsTheKernelsLists) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("7"), ElementsAre(7));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("all"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-x"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-1000000000"), IsEmpty());
}

TEST(OutOfMemory, SaysWhatRanOutAndHowMuchWasHeld) {
  EXPECT_EQ(OutOfMemory(Name(HostMemory::kPinned), 10, 20, "why"),
            absl::ResourceExhaustedError(
                "host pinned memory: 10 bytes asked, 20 bytes held so far: why"));
  EXPECT_EQ(Name(HostMemory::kPageable), "host pageable memory");
}

}  // namespace
}  // namespace penstock
