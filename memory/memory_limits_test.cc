#include "penstock/memory/memory_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMiB = int64_t{1} << 20;

// A made-up /proc and /sys/fs/cgroup.
class MemoryLimitsTest : public testing::Test {
 protected:
  MemoryLimitsTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(root_);
  }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  MemoryLimits Read() const { return ReadMemoryLimits({root_ + "/proc", root_ + "/cgroup"}); }

  const std::string root_;
};

TEST_F(MemoryLimitsTest, KnowsNothingWhereThereAreNoFiles) {
  EXPECT_THAT(Read().limits, IsEmpty());
  EXPECT_EQ(Read().nearest(), nullptr);
  EXPECT_EQ(Read().memlock, std::nullopt);
}

TEST_F(MemoryLimitsTest, TakesWhatIsAvailableOfTheMachine) {
  Write("/proc/meminfo",
        "MemTotal:       24684096 kB\nMemAvailable:      1000 kB\nSwapFree:         50 kB\n");
  ASSERT_THAT(Read().limits, SizeIs(1));
  EXPECT_EQ(Read().limits[0].bytes, 1024000);
  EXPECT_EQ(Read().limits[0].swap, 51200);
  EXPECT_EQ(Read().limits[0].origin, "MemAvailable in " + root_ + "/proc/meminfo is 1024000");
}

// Case D17: 1 GiB on a large host, with a page cache full of the data set.
TEST_F(MemoryLimitsTest, PageCacheIsNotUsed) {
  Write("/proc/meminfo", "MemAvailable: 500000000 kB\nSwapFree: 1024 kB\n");
  Write("/proc/self/cgroup", "0::/\n");
  Write("/cgroup/memory.max", "1073741824\n");
  Write("/cgroup/memory.high", "max\n");
  Write("/cgroup/memory.current", "1073000000\n");
  Write("/cgroup/memory.stat",
        "anon 3000000\nfile 1070000000\nshmem 20000000\ninactive_file 900000000\n"
        "active_file 150000000\nslab_reclaimable 5\n");
  const MemoryLimits limits = Read();
  ASSERT_THAT(limits.limits, SizeIs(2));
  // 1,073,000,000 less 1,050,000,000 of page cache; tmpfs stays.
  EXPECT_EQ(limits.nearest()->bytes, 1073741824 - 23000000);
  EXPECT_EQ(limits.nearest()->swap, 1048576);
  EXPECT_EQ(limits.nearest()->origin,
            root_ + "/cgroup/memory.max is 1073741824, of which 23000000 are used");
}

TEST_F(MemoryLimitsTest, TheSmallestOnTheWayUpCounts) {
  Write("/proc/self/cgroup", "1:name=systemd:/x\n0::/slice/job/task\n");
  Write("/cgroup/slice/memory.max", "1000\n");
  Write("/cgroup/slice/memory.current", "400\n");
  Write("/cgroup/slice/job/memory.max", "max\n");
  Write("/cgroup/slice/job/memory.high", "900\n");
  Write("/cgroup/slice/job/memory.current", "100\n");
  Write("/cgroup/slice/job/task/memory.max", "5000\n");
  Write("/cgroup/slice/other/memory.max", "1\n");
  const MemoryLimits limits = Read();
  ASSERT_THAT(limits.limits, SizeIs(3));
  EXPECT_EQ(limits.limits[0].bytes, 5000);
  EXPECT_EQ(limits.limits[1].bytes, 800);
  EXPECT_THAT(limits.limits[1].origin, HasSubstr("/cgroup/slice/job/memory.high is 900"));
  EXPECT_EQ(limits.nearest()->bytes, 600);
  EXPECT_THAT(limits.nearest()->origin,
              HasSubstr("/cgroup/slice/memory.max is 1000, of which 400"));
}

TEST_F(MemoryLimitsTest, SwapHasALimitOfItsOwn) {
  Write("/proc/meminfo", "SwapFree: 1000 kB\n");
  Write("/proc/self/cgroup", "0::/a\n");
  Write("/cgroup/a/memory.max", "1000\n");
  Write("/cgroup/a/memory.swap.max", "500\n");
  Write("/cgroup/a/memory.swap.current", "200\n");
  EXPECT_EQ(Read().nearest()->swap, 300);
  Write("/cgroup/a/memory.swap.max", "100\n");
  EXPECT_EQ(Read().nearest()->swap, 0);
  Write("/cgroup/a/memory.swap.max", "max\n");
  EXPECT_EQ(Read().nearest()->swap, 1024000);
}

TEST_F(MemoryLimitsTest, AnOverfullGroupHasNothingLeft) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/cgroup/memory.high", "1000\n");
  Write("/cgroup/memory.current", "1500\n");
  EXPECT_EQ(Read().nearest()->bytes, 0);
}

TEST_F(MemoryLimitsTest, ReadsVersionOneAndPathsThatOnlyTheHostSees) {
  Write("/proc/meminfo", "SwapFree: 1000000 kB\n");
  Write("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n");
  Write("/cgroup/memory/memory.limit_in_bytes", std::to_string(100 * kMiB));
  Write("/cgroup/memory/memory.usage_in_bytes", std::to_string(90 * kMiB));
  Write("/cgroup/memory/memory.stat", "inactive_file 1\nactive_file 1\ntotal_inactive_file " +
                                          std::to_string(60 * kMiB) + "\ntotal_active_file " +
                                          std::to_string(10 * kMiB) + "\n");
  Write("/cgroup/memory/memory.memsw.limit_in_bytes", std::to_string(130 * kMiB));
  Write("/cgroup/memory/memory.memsw.usage_in_bytes", std::to_string(95 * kMiB));
  const MemoryLimits limits = Read();
  ASSERT_THAT(limits.limits, SizeIs(1));
  EXPECT_EQ(limits.nearest()->bytes, 80 * kMiB);
  EXPECT_EQ(limits.nearest()->swap, 25 * kMiB);  // 35 MiB of both, 10 of them memory.
  EXPECT_THAT(limits.nearest()->origin, HasSubstr("/cgroup/memory/memory.limit_in_bytes is"));
  Write("/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_THAT(Read().limits, IsEmpty());
}

TEST_F(MemoryLimitsTest, ReportsWhatMayBeLocked) {
  const std::string head = "Limit                     Soft Limit           Hard Limit    Units\n";
  Write("/proc/self/limits",
        head + "Max locked memory         8388608              16777216      bytes\n");
  EXPECT_EQ(Read().memlock, 8388608);
  EXPECT_THAT(Read().limits, IsEmpty());  // It binds nothing here.
  Write("/proc/self/limits",
        head + "Max locked memory         unlimited            unlimited     bytes\n");
  EXPECT_EQ(Read().memlock, std::nullopt);
}

TEST(MemoryLimits, OfThisMachineAreRead) {
  const MemoryLimits limits = ReadMemoryLimits();
  ASSERT_NE(limits.nearest(), nullptr);
  EXPECT_GT(limits.nearest()->bytes, 0);
}

TEST(FindLocalWorld, BelievesTheLauncher) {
  std::map<std::string, const char*> environment;
  const auto getenv = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  };
  EXPECT_EQ(FindLocalWorld(getenv).ranks, 1);
  EXPECT_EQ(FindLocalWorld(getenv).origin, "");
  environment["SLURM_NTASKS_PER_NODE"] = "4";
  EXPECT_EQ(FindLocalWorld(getenv).ranks, 4);
  environment["MPI_LOCALNRANKS"] = "3";
  EXPECT_EQ(FindLocalWorld(getenv).origin, "MPI_LOCALNRANKS");
  environment["OMPI_COMM_WORLD_LOCAL_SIZE"] = "0";  // No number of processes.
  EXPECT_EQ(FindLocalWorld(getenv).ranks, 3);
  environment["LOCAL_WORLD_SIZE"] = "8";
  EXPECT_EQ(FindLocalWorld(getenv).ranks, 8);
  EXPECT_EQ(FindLocalWorld(getenv).origin, "LOCAL_WORLD_SIZE");
  environment["LOCAL_WORLD_SIZE"] = "eight";
  EXPECT_EQ(FindLocalWorld(getenv).ranks, 3);
}

}  // namespace
}  // namespace penstock
