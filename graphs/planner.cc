#include "penstock/graphs/planner.h"

#include <utility>

#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/memory_plan.h"
#include "penstock/graphs/output_planner.h"
#include "penstock/graphs/validate.h"
#include "penstock/memory/status_macros.h"

namespace penstock {

absl::StatusOr<std::vector<PlannedOutput>> MakePlans(const Graph& graph,
                                                     const PlannerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(options.registry->status());
  GraphErrors errors(graph);
  const ValidGraph valid = ValidateGraph(graph, *options.registry, errors);
  if (!errors.empty()) return errors.status();
  std::vector<OutputPlanner> planners;
  for (const std::vector<int>& way : valid.outputs) {
    planners.emplace_back(graph, valid, way, options, errors);
  }
  // All that needs no data first, so that every fault of the graph is reported, whatever the data.
  for (OutputPlanner& planner : planners) planner.MakeStages();
  if (!errors.empty()) return errors.status();
  std::vector<PlannedOutput> outputs;
  for (OutputPlanner& planner : planners) {
    PENSTOCK_RETURN_IF_ERROR(planner.OpenSource());
    if (errors.empty()) planner.InferShapes();
    if (errors.empty()) PENSTOCK_RETURN_IF_ERROR(planner.PlaceStages());
    outputs.push_back(planner.Take());
  }
  if (!errors.empty()) return errors.status();
  PENSTOCK_RETURN_IF_ERROR(SettleMemory(outputs, options));
  return outputs;
}

}  // namespace penstock
