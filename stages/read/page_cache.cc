#include "penstock/stages/read/page_cache.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace penstock {
namespace {

constexpr int64_t kSmallFile = int64_t{64} << 20;
constexpr int64_t kSamples = 64;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// A file that holds one number, or "max".
int64_t LimitIn(const char* path) {
  std::ifstream file(path);
  int64_t bytes = kUnlimited;
  return file >> bytes ? bytes : kUnlimited;
}

int64_t MemAvailable() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  }
  return kUnlimited;
}

}  // namespace

int64_t AvailableMemory() {
  return std::min({MemAvailable(), LimitIn("/sys/fs/cgroup/memory.max"),
                   LimitIn("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

double ResidentShare(int descriptor, int64_t bytes) {
  if (bytes <= 0) return 1;
  const auto size = static_cast<size_t>(bytes);
  void* const mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapping == MAP_FAILED) return 1;
  const int64_t page = sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page;
  const int64_t samples = std::min(kSamples, pages);
  int64_t resident = 0;
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t at = samples == 1 ? 0 : i * ((pages - 1) / (samples - 1));
    unsigned char is_resident = 1;
    const int failed = mincore(static_cast<char*>(mapping) + at * page, 1, &is_resident);
    resident += failed != 0 || (is_resident & 1) != 0 ? 1 : 0;
  }
  munmap(mapping, size);
  return static_cast<double>(resident) / static_cast<double>(samples);
}

bool OutgrowsPageCache(int descriptor) {
  struct stat info;
  if (fstat(descriptor, &info) != 0 || info.st_size < kSmallFile) return false;
  return info.st_size > AvailableMemory() / 2 && ResidentShare(descriptor, info.st_size) < 0.5;
}

}  // namespace penstock
