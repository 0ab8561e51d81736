#include "penstock/memory/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "penstock/memory/cpu_set.h"
#include "penstock/memory/testing/numa_maps.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

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

TEST(PagesByNode, ReadsTheKernelsAccount) {
  const auto pages = [](uintptr_t address) {
    std::istringstream text(
        "1000 default file=/lib/N3=x mapped=7 N0=7 kernelpagesize_kB=4\n"
        "200000 prefer:1 anon=12 dirty=12 N0=2 N1=10 kernelpagesize_kB=2048\n"
        "900000 default\n");
    return PagesByNode(text, reinterpret_cast<const void*>(address));
  };
  EXPECT_THAT(pages(0x1fff), UnorderedElementsAre(Pair(0, 7)));
  EXPECT_THAT(pages(0x200000), UnorderedElementsAre(Pair(0, 2), Pair(1, 10)));
  EXPECT_THAT(pages(0x900000), IsEmpty());
  EXPECT_THAT(pages(0xfff), IsEmpty());
}

// Case D18, for any machine with nodes: memory lies where the CPUs are that touch it.
TEST(TouchHostMemory, LandsOnTheNodeOfItsCpus) {
  const int nodes = CountNumaNodes();
  if (nodes < 2) GTEST_SKIP() << "this machine has one NUMA node";
  for (int node = 0; node < nodes; ++node) {
    std::ifstream list("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string cpus;
    std::getline(list, cpus);
    cpu_set_t usable;
    ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
    const std::vector<int> near = ParseCpuList(cpus);
    if (std::none_of(near.begin(), near.end(), [&](int cpu) { return CPU_ISSET(cpu, &usable); })) {
      continue;  // Memory alone, or not for this process.
    }
    const size_t bytes = 8 * kMiB;
    std::byte* const data = MapHostMemory(bytes).value();
    TouchHostMemory(data, bytes, {.cpus = near});
    const std::map<int, int64_t> pages = PagesByNode(data);
    EXPECT_EQ(pages.size(), 1u);
    EXPECT_EQ(pages.count(node), 1u) << "node " << node;
    UnmapHostMemory(data, bytes);
  }
}

TEST(CheckPageStart, SaysWhatItExpects) {
  EXPECT_EQ(CheckPageStart(reinterpret_cast<const std::byte*>(0x5000)), absl::OkStatus());
  EXPECT_EQ(CheckPageStart(reinterpret_cast<const std::byte*>(0x5001)),
            absl::FailedPreconditionError("page-locking memory at 0x5001: expected the start of a "
                                          "page, a multiple of 4096"));
}

TEST(OutOfMemory, SaysWhatRanOutAndHowMuchWasHeld) {
  EXPECT_EQ(OutOfMemory(Name(HostMemory::kPinned), 10, 20, "why"),
            absl::ResourceExhaustedError(
                "host pinned memory: 10 bytes asked, 20 bytes held so far: why"));
  EXPECT_EQ(Name(HostMemory::kPageable), "host pageable memory");
}

}  // namespace
}  // namespace penstock
