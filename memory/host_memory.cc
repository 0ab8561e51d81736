#include "penstock/memory/host_memory.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/slab.h"

namespace penstock {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kTimedBytes = size_t{64} << 20;      // What tells whether huge pages are slow.
constexpr size_t kBytesPerThread = size_t{16} << 20;  // Less is not worth a thread.

std::vector<int> UsableCpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// `wanted` as far as they are usable, or all usable ones if none is.
std::vector<int> ChooseCpus(const std::vector<int>& wanted) {
  const std::vector<int> usable = UsableCpus();
  std::vector<int> both;
  for (int cpu : usable) {
    if (std::find(wanted.begin(), wanted.end(), cpu) != wanted.end()) both.push_back(cpu);
  }
  return both.empty() ? usable : both;
}

void RunOn(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  // A refusal only costs locality.
  (void)sched_setaffinity(0, sizeof set, &set);
}

void TouchPages(std::byte* begin, std::byte* end) {
  for (volatile std::byte* page = begin; page < end; page += kPage) *page = std::byte{0};
}

// Threads, not the caller, do all of it: their CPUs decide where the memory lands.
void TouchInParallel(std::byte* data, size_t bytes, const std::vector<int>& cpus, int max_threads) {
  const size_t wanted = AlignUp(bytes, kBytesPerThread) / kBytesPerThread;
  const size_t threads = std::min(
      {wanted, static_cast<size_t>(std::max(max_threads, 1)), std::max<size_t>(cpus.size(), 1)});
  const size_t part = AlignUp(AlignUp(bytes, threads) / threads, kHugePage);
  std::vector<std::thread> running;
  for (size_t begin = 0; begin < bytes; begin += part) {
    std::byte* const first = data + begin;
    std::byte* const last = data + std::min(begin + part, bytes);
    try {
      running.emplace_back([first, last, &cpus] {
        if (!cpus.empty()) RunOn(cpus);
        TouchPages(first, last);
      });
    } catch (const std::system_error&) {
      TouchPages(first, last);  // No more threads: slower, but just as good.
    }
  }
  for (std::thread& thread : running) thread.join();
}

}  // namespace

absl::StatusOr<std::byte*> MapHostMemory(size_t bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const size_t size = AlignUp(bytes, kPage);
  const size_t mapped = size + alignment - kPage;
  if (size < bytes || mapped < size)
    return absl::ResourceExhaustedError("more than there are addresses");
  void* const map =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return absl::ResourceExhaustedError(std::strerror(errno));
  auto* const begin = static_cast<std::byte*>(map);
  const size_t skip =
      AlignUp(reinterpret_cast<uintptr_t>(map), alignment) - reinterpret_cast<uintptr_t>(map);
  if (skip > 0) munmap(begin, skip);
  if (skip + size < mapped) munmap(begin + skip + size, mapped - skip - size);
  return begin + skip;
}

void UnmapHostMemory(std::byte* data, size_t bytes) { munmap(data, AlignUp(bytes, kPage)); }

bool TouchHostMemory(std::byte* data, size_t bytes, const TouchOptions& options) {
  const size_t size = AlignUp(bytes, kPage);
  // Advice may be refused (a kernel without huge pages); then there are small ones.
  (void)madvise(data, size, options.huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const std::vector<int> cpus = ChooseCpus(options.cpus);
  const size_t timed = std::min(size, kTimedBytes);
  const auto start = std::chrono::steady_clock::now();
  TouchInParallel(data, timed, cpus, options.max_threads);
  const auto took = absl::FromChrono(std::chrono::steady_clock::now() - start);
  const bool slow = options.huge_pages && timed == kTimedBytes && took > options.slow;
  if (timed < size) {
    if (slow) (void)madvise(data + timed, size - timed, MADV_NOHUGEPAGE);
    TouchInParallel(data + timed, size - timed, cpus, options.max_threads);
  }
  return options.huge_pages && !slow;
}

absl::Status CheckPageStart(const std::byte* data) {
  if (reinterpret_cast<uintptr_t>(data) % kPage == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "page-locking memory at %p: expected the start of a page, a multiple of %d", data, kPage));
}

std::vector<int> ParseCpuList(absl::string_view list) {
  std::vector<int> cpus;
  for (absl::string_view part : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    int first = 0, last = 0;
    if (!absl::SimpleAtoi(range.first, &first)) return {};
    if (!absl::SimpleAtoi(range.second.empty() ? range.first : range.second, &last)) return {};
    if (first < 0 || last >= CPU_SETSIZE) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

absl::Status OutOfMemory(absl::string_view what, size_t bytes, size_t held,
                         absl::string_view cause) {
  return absl::ResourceExhaustedError(
      absl::StrCat(what, ": ", bytes, " bytes asked, ", held, " bytes held so far: ", cause));
}

absl::string_view Name(HostMemory kind) {
  return kind == HostMemory::kPinned ? "host pinned memory" : "host pageable memory";
}

}  // namespace penstock
