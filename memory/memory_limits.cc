#include "penstock/memory/memory_limits.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

constexpr int64_t kKiB = 1024;
// How cgroup v1 writes "no limit": the largest multiple of a page.
constexpr int64_t kNoLimit = int64_t{1} << 60;

// A file's only number; nullopt for "max", and where there is no such file.
std::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  int64_t number = 0;
  if (!(file >> word) || !absl::SimpleAtoi(word, &number)) return std::nullopt;
  return number;
}

// The number behind `key` in a file of lines "key number", as "MemAvailable: 123 kB".
std::optional<int64_t> ReadKey(const std::string& path, absl::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() >= 2 && words[0] == key && absl::SimpleAtoi(words[1], &number)) return number;
  }
  return std::nullopt;
}

// "/a/b", "/a", "": the way up to the root of a hierarchy.
std::vector<std::string> WayUp(absl::string_view path) {
  std::vector<std::string> way;
  while (!path.empty() && path != "/") {
    way.emplace_back(path);
    path = path.substr(0, path.rfind('/'));
  }
  way.emplace_back("");
  return way;
}

std::string Of(const std::string& file, int64_t limit, int64_t used) {
  return absl::StrCat(file, " is ", limit, ", of which ", used, " are used");
}

// File pages on the kernel's lists are what it can give up; shared memory is not among them.
int64_t PageCache(const std::string& stat, absl::string_view prefix) {
  return ReadKey(stat, absl::StrCat(prefix, "inactive_file")).value_or(0) +
         ReadKey(stat, absl::StrCat(prefix, "active_file")).value_or(0);
}

// Of one cgroup (v2).
void AddUnified(const std::string& folder, int64_t swap_free, std::vector<MemoryLimit>& limits) {
  const int64_t current = ReadNumber(folder + "/memory.current").value_or(0);
  const int64_t cache = PageCache(folder + "/memory.stat", "");
  const int64_t used = std::max<int64_t>(0, current - cache);
  int64_t swap = swap_free;
  if (const auto most = ReadNumber(folder + "/memory.swap.max")) {
    const int64_t swapped = ReadNumber(folder + "/memory.swap.current").value_or(0);
    swap = std::clamp<int64_t>(*most - swapped, 0, swap_free);
  }
  for (const char* name : {"/memory.max", "/memory.high"}) {
    const std::string file = folder + name;
    const std::optional<int64_t> limit = ReadNumber(file);
    if (!limit) continue;
    limits.push_back({std::max<int64_t>(0, *limit - used), swap, Of(file, *limit, used)});
  }
}

// Of one cgroup of the memory controller (v1).
void AddLegacy(const std::string& folder, int64_t swap_free, std::vector<MemoryLimit>& limits) {
  const std::string file = folder + "/memory.limit_in_bytes";
  const std::optional<int64_t> limit = ReadNumber(file);
  if (!limit || *limit >= kNoLimit) return;
  const int64_t usage = ReadNumber(folder + "/memory.usage_in_bytes").value_or(0);
  const int64_t cache = PageCache(folder + "/memory.stat", "total_");
  const int64_t used = std::max<int64_t>(0, usage - cache);
  int64_t swap = swap_free;
  const auto both = ReadNumber(folder + "/memory.memsw.limit_in_bytes");
  if (both && *both < kNoLimit) {
    const int64_t both_used = ReadNumber(folder + "/memory.memsw.usage_in_bytes").value_or(0);
    swap = std::clamp<int64_t>((*both - both_used) - (*limit - usage), 0, swap_free);
  }
  limits.push_back({std::max<int64_t>(0, *limit - used), swap, Of(file, *limit, used)});
}

// Lines "0::/path" (v2) and "4:memory:/path" (v1). In a container the path may be one that only its
// host sees; the container's own limit then stands at the root.
void AddCgroups(const MemoryRoots& roots, int64_t swap_free, std::vector<MemoryLimit>& limits) {
  std::ifstream file(roots.proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool legacy =
        std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (!legacy && parts[0] != "0") continue;
    for (const std::string& path : WayUp(parts[2])) {
      if (legacy) AddLegacy(roots.cgroup + "/memory" + path, swap_free, limits);
      if (!legacy) AddUnified(roots.cgroup + path, swap_free, limits);
    }
  }
}

// "Max locked memory  8388608  8388608  bytes", the soft limit first.
std::optional<int64_t> ReadMemlock(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, "Max locked memory")) continue;
    const std::vector<std::string> words = absl::StrSplit(rest, ' ', absl::SkipEmpty());
    int64_t bytes = 0;
    if (!words.empty() && absl::SimpleAtoi(words[0], &bytes)) return bytes;
  }
  return std::nullopt;
}

}  // namespace

const MemoryLimit* MemoryLimits::nearest() const {
  const auto nearest = std::min_element(
      limits.begin(), limits.end(),
      [](const MemoryLimit& a, const MemoryLimit& b) { return a.bytes < b.bytes; });
  return nearest == limits.end() ? nullptr : &*nearest;
}

MemoryLimits ReadMemoryLimits(const MemoryRoots& roots) {
  MemoryLimits read;
  const std::string meminfo = roots.proc + "/meminfo";
  const int64_t swap_free = ReadKey(meminfo, "SwapFree:").value_or(0) * kKiB;
  AddCgroups(roots, swap_free, read.limits);
  if (const auto available = ReadKey(meminfo, "MemAvailable:")) {
    read.limits.push_back({*available * kKiB, swap_free,
                           absl::StrCat("MemAvailable in ", meminfo, " is ", *available * kKiB)});
  }
  read.memlock = ReadMemlock(roots.proc + "/self/limits");
  return read;
}

LocalWorld FindLocalWorld(const std::function<const char*(const char* name)>& getenv) {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                           "SLURM_NTASKS_PER_NODE"}) {
    const char* const value = getenv(name);
    int64_t ranks = 0;
    if (value != nullptr && absl::SimpleAtoi(value, &ranks) && ranks >= 1) return {ranks, name};
  }
  return {};
}

}  // namespace penstock
