#include "penstock/stages/read/page_cache.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "penstock/memory/memory_limits.h"

namespace penstock {
namespace {

constexpr int64_t kSmallFile = int64_t{64} << 20;
constexpr int64_t kSamples = 64;

}  // namespace

int64_t AvailableMemory() {
  const MemoryLimits limits = ReadMemoryLimits();
  const MemoryLimit* const nearest = limits.nearest();
  return nearest == nullptr ? std::numeric_limits<int64_t>::max() : nearest->bytes;
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
