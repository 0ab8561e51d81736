// How many threads this process may really use.
#pragma once

#include <string>

namespace penstock {

struct CpuBudget {
  int threads = 1;
  std::string reason;  // "8 CPUs", "2 of 64 CPUs (affinity)", "2 CPUs (cgroup quota)".
};

// The smaller of the affinity mask and the cgroup's CPU quota (v2 cpu.max, v1 cpu.cfs_quota_us),
// rounded up, at least 1.
CpuBudget GetCpuBudget();

// The quota in CPUs of the cgroup files below `root` ("/sys/fs/cgroup"); 0 if there is none.
double CgroupCpuQuota(const std::string& root);

// CPU time of this process so far, of all threads, in seconds.
double ProcessCpuSeconds();

}  // namespace penstock
