// Host memory straight from the kernel: exact sizes, zeroed, on huge pages where they are fast, and
// touched by many threads. What page-locks it is not here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "penstock/memory/device.h"

namespace penstock {

// Maps `bytes` (> 0) of zeroed memory, rounded up to 4 KiB pages and no further. From 2 MiB on, it
// starts at a multiple of 2 MiB, so that huge pages fit. Nothing is touched yet. The error is the
// kernel's words alone; see OutOfMemory(). Thread-safe.
absl::StatusOr<std::byte*> MapHostMemory(size_t bytes);
// Gives back what MapHostMemory(bytes) gave.
void UnmapHostMemory(std::byte* data, size_t bytes);

struct TouchOptions {
  // The CPUs that touch, as far as the calling thread may use them (CpusToBind()); memory lands on
  // their NUMA node. Empty: all that it may use.
  std::vector<int> cpus = {};
  int max_threads = 16;  // More do not help: one gigabyte then takes 42 ms.
  bool huge_pages = true;
  // Huge pages are given up if the first 64 MiB take longer, as they do where the kernel must first
  // move other memory away. With 4 KiB pages one thread needs half of this.
  absl::Duration slow = absl::Milliseconds(60);
};

// Makes all pages of mapped, untouched memory present, so that the first use need not wait for
// them. Returns whether huge pages were asked for to the end: false means do without the next time.
// Blocks; its threads are gone when it returns.
bool TouchHostMemory(std::byte* data, size_t bytes, const TouchOptions& options);

// FailedPrecondition unless `data` starts a page: what can be page-locked where it lies.
absl::Status CheckPageStart(const std::byte* data);

// ResourceExhausted: "host pinned memory: 1024 bytes asked, 4096 bytes held so far: <cause>".
// `what` is what ran out.
absl::Status OutOfMemory(absl::string_view what, size_t bytes, size_t held,
                         absl::string_view cause);
absl::string_view Name(HostMemory kind);  // "host pinned memory", "host pageable memory"

}  // namespace penstock
