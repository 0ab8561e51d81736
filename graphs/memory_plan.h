// The memory plan: what all outputs of a graph will take on all devices, against what they may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "penstock/graphs/planner.h"

namespace penstock {

// In bytes. On the host of all devices together, on the device of each.
struct MemoryNeed {
  int64_t pinned = 0;    // Slabs and caches in page-locked memory.
  int64_t pageable = 0;  // The others, and on the CPU also what stands for device memory.
  int64_t device = 0;    // Slabs, scratch and caches.
  int64_t mapped = 0;    // Of `pinned`: files on tmpfs, which are in memory already.
};

MemoryNeed AddUpMemory(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options);

// What all outputs may take on each device: the smaller of max_device_bytes and what is free there;
// 0: no limit is known.
int64_t DeviceRoom(const PlannerOptions& options);

// Makes all fit, or refuses, before anything is allocated. What gives way, in this order: the stage
// of a Cache, seats that no graph asked for, arenas, and last slabs that may be pageable (Pin {
// mode: AUTO }); then options.log gets a line that says why.
//
// Errors name the bytes wanted, the limit, where it comes from, and what to change: InvalidArgument
// for max_pinned_bytes and max_device_bytes, with what wants them; ResourceExhausted for the
// machine's limits, of which each of several processes of one job may have its share.
absl::Status SettleMemory(std::vector<PlannedOutput>& outputs, const PlannerOptions& options);

// "1048576 bytes (1.0 MiB)".
std::string BytesText(int64_t bytes);

// For people, a few lines: what all outputs take together, and the limit that is nearest.
std::string MemoryReport(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options);

}  // namespace penstock
