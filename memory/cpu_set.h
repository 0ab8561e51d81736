// Which CPUs a thread may run on. CPUs are numbers as the kernel has them, in ascending order.
#pragma once

#include <pthread.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// "0-3,8" as 0, 1, 2, 3, 8, as the kernel writes lists of CPUs. Empty if it is not such a list.
std::vector<int> ParseCpuList(absl::string_view list);
// The other way round.
std::string CpuListText(const std::vector<int>& cpus);

// Those of the calling thread, and of threads that it starts: what a user's taskset and the
// cgroup's cpuset left. Empty if the kernel does not say.
std::vector<int> AllowedCpus();

// Where to bind a thread that is best on `wanted` and may use `allowed`: to those in both. Empty,
// for "leave it as it is", where these are none, or all of `allowed`.
std::vector<int> CpusToBind(const std::vector<int>& wanted, const std::vector<int>& allowed);

// Does nothing if `cpus` is empty. A refusal is dropped: it only costs locality.
void BindThread(pthread_t thread, const std::vector<int>& cpus);

}  // namespace penstock
