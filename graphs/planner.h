// The planner: turns a valid graph into ExecutionPlans, and decides where each stage runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/graph.h"
#include "penstock/memory/device.h"
#include "penstock/memory/memory_limits.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/stages/registry.h"

namespace penstock {

struct PlannerOptions {
  DeviceKind device = DeviceKind::kSim;
  const Registry* registry = &Registry::Default();
  int64_t rank = 0, world = 1;
  int64_t devices = 1;           // That take turns; a source without end can feed one only.
  std::optional<uint64_t> seed;  // Overrides the graph's.
  int64_t first_epoch = 0;
  int64_t epochs = 1;
  // 0: no limit. Pinned: of all outputs and devices together; device: of all outputs, on each.
  int64_t max_pinned_bytes = 0, max_device_bytes = 0;
  // Of the device that has least: what nobody has taken. 0: unknown.
  int64_t free_device_bytes = 0;
  // What the machine has left, and who shares it. See SettleMemory().
  MemoryLimits machine;
  LocalWorld local_world;
  std::function<void(absl::string_view line)> log;  // Warnings; empty: dropped.
  // Of a stream, for what lies between two device steps. A batch that needs more runs in waves of
  // rows.
  size_t arena_bytes = size_t{64} << 20;
};

// Where the sample stages went, and why, and what nodes are called: for people.
struct PlanNote {
  bool on_device = false;  // Of the stages before Collate.
  std::string why;
  std::string cache_why;  // Of a Cache: why its place.
  std::string cache_node, collate_node, upload_node;
};

struct PlannedOutput {
  ExecutionPlan plan;
  PlanNote note;
};

// One plan a terminal node. Makes and checks every stage, lets sources look at their data, and
// settles the memory. Errors: InvalidArgument with all faults of the graph, one a line, each with
// its place in the text; any other code is a source's (the data) or the machine's (too little
// memory), after the graph itself was found good.
absl::StatusOr<std::vector<PlannedOutput>> MakePlans(const Graph& graph,
                                                     const PlannerOptions& options);

}  // namespace penstock
