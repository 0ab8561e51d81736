#include "penstock/scheduler/cpu_budget.h"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace penstock {
namespace {

std::string Root(const std::string& name) {
  const std::string root = std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
  std::filesystem::create_directories(root + "/cpu");
  return root;
}

TEST(CgroupCpuQuotaTest, VersionTwo) {
  const std::string root = Root("v2");
  std::ofstream(root + "/cpu.max") << "200000 100000\n";
  EXPECT_EQ(CgroupCpuQuota(root), 2.0);
  std::ofstream(root + "/cpu.max") << "150000 100000\n";
  EXPECT_EQ(CgroupCpuQuota(root), 1.5);
  std::ofstream(root + "/cpu.max") << "max 100000\n";
  EXPECT_EQ(CgroupCpuQuota(root), 0);
}

TEST(CgroupCpuQuotaTest, VersionOne) {
  const std::string root = Root("v1");
  std::ofstream(root + "/cpu/cpu.cfs_quota_us") << "400000\n";
  std::ofstream(root + "/cpu/cpu.cfs_period_us") << "100000\n";
  EXPECT_EQ(CgroupCpuQuota(root), 4.0);
  std::ofstream(root + "/cpu/cpu.cfs_quota_us") << "-1\n";
  EXPECT_EQ(CgroupCpuQuota(root), 0);
}

TEST(CgroupCpuQuotaTest, NoCgroup) { EXPECT_EQ(CgroupCpuQuota(Root("none")), 0); }

TEST(CpuBudgetTest, FollowsTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(GetCpuBudget().threads, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace penstock
