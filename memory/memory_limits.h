// What the machine still lets this process have of its memory: cgroups (v1 and v2) and what is
// free. For plans, before anything is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

// Where the kernel's files are; tests have their own.
struct MemoryRoots {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// One bound on what may still be taken.
struct MemoryLimit {
  int64_t bytes = 0;   // That still fit and stay, as page-locked ones do. Never below 0.
  int64_t swap = 0;    // That fit besides, if they may be swapped out.
  std::string origin;  // "/sys/fs/cgroup/memory.max is 1073741824, of which 4096 are used"
};

struct MemoryLimits {
  // All that bind, a limit on each way up from the process's own cgroup; empty if nothing is known.
  std::vector<MemoryLimit> limits;
  // RLIMIT_MEMLOCK in bytes; nullopt: none. It binds mlock() and nothing here: NVIDIA's driver pins
  // the pages of cudaHostRegister() and cudaHostAlloc() by pin_user_pages() (os-mlock.c of its open
  // kernel modules) and counts none of them against it. For people who look for it.
  std::optional<int64_t> memlock;

  // Of those with the fewest bytes the first; null if there is none.
  const MemoryLimit* nearest() const;
};

// Page cache does not count as used: the kernel gives it up before it refuses. What cannot be read
// is no limit. Some ten small files; thread-safe.
MemoryLimits ReadMemoryLimits(const MemoryRoots& roots = {});

// The processes of one job on this machine, which share its memory. They start together, so each
// may have its share of what was free.
struct LocalWorld {
  int64_t ranks = 1;
  std::string origin;  // "LOCAL_WORLD_SIZE"; empty if nothing says that there are others.
};

// As torchrun, Open MPI, Hydra or Slurm say. `getenv` gives null for a variable that is not set.
LocalWorld FindLocalWorld(const std::function<const char*(const char* name)>& getenv);

}  // namespace penstock
