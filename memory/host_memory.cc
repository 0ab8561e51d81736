#include "penstock/memory/host_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/slab.h"

namespace penstock {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kTimedBytes = size_t{64} << 20;      // What tells whether huge pages are slow.
constexpr size_t kBytesPerThread = size_t{16} << 20;  // Less is not worth a thread.

void TouchPages(std::byte* begin, std::byte* end) {
  for (volatile std::byte* page = begin; page < end; page += kPage) *page = std::byte{0};
}

// Threads, not the caller, do all of it: their CPUs decide where the memory lands.
void TouchInParallel(std::byte* data, size_t bytes, const std::vector<int>& cpus, int max_threads) {
  const size_t wanted = AlignUp(bytes, kBytesPerThread) / kBytesPerThread;
  const size_t threads = std::min(wanted, static_cast<size_t>(max_threads));
  const size_t part = AlignUp(AlignUp(bytes, threads) / threads, kHugePage);
  std::vector<std::thread> running;
  for (size_t begin = 0; begin < bytes; begin += part) {
    std::byte* const first = data + begin;
    std::byte* const last = data + std::min(begin + part, bytes);
    try {
      running.emplace_back([first, last, &cpus] {
        BindThread(pthread_self(), cpus);
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
  const std::vector<int> allowed = AllowedCpus(), cpus = CpusToBind(options.cpus, allowed);
  const auto usable = static_cast<int>(cpus.empty() ? allowed.size() : cpus.size());
  const int max_threads = std::max(std::min(options.max_threads, usable), 1);
  const size_t timed = std::min(size, kTimedBytes);
  const auto start = std::chrono::steady_clock::now();
  TouchInParallel(data, timed, cpus, max_threads);
  const auto took = absl::FromChrono(std::chrono::steady_clock::now() - start);
  const bool slow = options.huge_pages && timed == kTimedBytes && took > options.slow;
  if (timed < size) {
    if (slow) (void)madvise(data + timed, size - timed, MADV_NOHUGEPAGE);
    TouchInParallel(data + timed, size - timed, cpus, max_threads);
  }
  return options.huge_pages && !slow;
}

absl::Status CheckPageStart(const std::byte* data) {
  if (reinterpret_cast<uintptr_t>(data) % kPage == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "page-locking memory at %p: expected the start of a page, a multiple of %d", data, kPage));
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
