// Which I/O threads read for which devices, and on which CPUs.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock {

// What one IoPool is for.
struct IoShare {
  int threads = 0;
  std::vector<int> cpus;        // That its threads are bound to; empty: they are not bound.
  std::vector<size_t> devices;  // That it reads for, by number.
};

// Divides `threads` among devices with these near_cpus(), of which a thread may use `allowed`.
// Devices whose threads would be bound to the same CPUs share theirs, so that the threads of one
// that needs little work for the others; where the machine has one NUMA node, that is all devices.
// Each share has threads in proportion to its devices, and at least one, which is more than
// `threads` in all where there are fewer of them than shares. In order of the shares' first
// devices.
std::vector<IoShare> ShareIoThreads(const std::vector<std::vector<int>>& near_cpus,
                                    const std::vector<int>& allowed, int threads);

}  // namespace penstock
