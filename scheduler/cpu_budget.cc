#include "penstock/scheduler/cpu_budget.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// A file's first two words as numbers; a word that is none ("max") counts as -1.
bool ReadNumbers(const std::string& path, double& first, double& second) {
  std::ifstream file(path);
  std::string a, b;
  if (!(file >> a)) return false;
  if (!absl::SimpleAtod(a, &first)) first = -1;
  if (!(file >> b) || !absl::SimpleAtod(b, &second)) second = -1;
  return true;
}

}  // namespace

double CgroupCpuQuota(const std::string& root) {
  double quota = -1, period = -1, none = -1;
  if (!ReadNumbers(root + "/cpu.max", quota, period)) {
    if (!ReadNumbers(root + "/cpu/cpu.cfs_quota_us", quota, none)) return 0;
    ReadNumbers(root + "/cpu/cpu.cfs_period_us", period, none);
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

CpuBudget GetCpuBudget() {
  const int online = std::max<int>(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  CpuBudget budget = {online, absl::StrCat(online, " CPUs")};
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0 && CPU_COUNT(&mask) < online) {
    budget = {std::max(1, CPU_COUNT(&mask)),
              absl::StrCat(CPU_COUNT(&mask), " of ", online, " CPUs (affinity)")};
  }
  const double quota = CgroupCpuQuota("/sys/fs/cgroup");
  const int allowed = static_cast<int>(std::ceil(quota));
  if (quota > 0 && allowed < budget.threads) {
    budget = {std::max(1, allowed), absl::StrCat(quota, " CPUs (cgroup quota)")};
  }
  return budget;
}

double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace penstock
