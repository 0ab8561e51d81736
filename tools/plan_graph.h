// The plan that a run would have, without the run.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/planner.h"
#include "penstock/tools/graph_flags.h"

namespace penstock {

struct PlannedGraph {
  PlannerOptions options;  // With what this machine has left, also where it was not obeyed.
  std::vector<PlannedOutput> outputs;
};

// Plans for the devices that are named, within the budgets. CUDA need not be there to plan for
// "cuda:0", and "auto" means CUDA where it is usable. What this machine has left is obeyed only
// where --local_world says among how many it is shared, for the plan may be for another machine.
// Errors are those of MakePlans(); InvalidArgument for devices that no run would take.
absl::StatusOr<PlannedGraph> PlanGraph(const Graph& graph, const GraphFlags& flags);

}  // namespace penstock
