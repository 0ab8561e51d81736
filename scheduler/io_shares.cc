#include "penstock/scheduler/io_shares.h"

#include <algorithm>

#include "penstock/memory/cpu_set.h"

namespace penstock {
namespace {

// Whether `a` has fewer threads a device.
bool HasFewer(const IoShare& a, const IoShare& b) {
  return static_cast<size_t>(a.threads) * b.devices.size() <
         static_cast<size_t>(b.threads) * a.devices.size();
}

}  // namespace

std::vector<IoShare> ShareIoThreads(const std::vector<std::vector<int>>& near_cpus,
                                    const std::vector<int>& allowed, int threads) {
  std::vector<IoShare> shares;
  for (size_t d = 0; d < near_cpus.size(); ++d) {
    const std::vector<int> cpus = CpusToBind(near_cpus[d], allowed);
    auto share = std::find_if(shares.begin(), shares.end(),
                              [&](const IoShare& other) { return other.cpus == cpus; });
    if (share == shares.end()) share = shares.insert(share, {0, cpus, {}});
    share->devices.push_back(d);
  }
  // Those that have none yet come first.
  const int all = std::max(threads, static_cast<int>(shares.size()));
  for (int i = 0; i < all; ++i) {
    ++std::min_element(shares.begin(), shares.end(), HasFewer)->threads;
  }
  return shares;
}

}  // namespace penstock
