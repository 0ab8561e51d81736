#include "penstock/graphs/planner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/output_planner.h"
#include "penstock/graphs/validate.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// Bytes of all outputs against the budgets.
absl::Status CheckBudgets(const std::vector<PlannedOutput>& outputs,
                          const PlannerOptions& options) {
  int64_t pinned = 0, device = 0;
  for (const PlannedOutput& output : outputs) {
    const ExecutionPlan& plan = output.plan;
    if (plan.memory == HostMemory::kPinned) {
      pinned += static_cast<int64_t>(plan.layout.host_bytes()) * plan.seats;
    }
    device += static_cast<int64_t>(plan.layout.device_bytes()) * plan.seats +
              static_cast<int64_t>(plan.arena_bytes + plan.scratch_bytes) * plan.streams;
  }
  const auto check = [](int64_t bytes, int64_t limit, const char* what, const char* flag) {
    if (limit == 0 || bytes <= limit) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the plan takes ", bytes, " bytes of ", what, ", but ", flag, " allows ",
                     limit, "; raise it, or lower batches_in_flight or batch_size"));
  };
  PENSTOCK_RETURN_IF_ERROR(
      check(pinned, options.max_pinned_bytes, "host pinned memory", "max_pinned_bytes"));
  return check(device, options.max_device_bytes, "device memory", "max_device_bytes");
}

}  // namespace

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
  PENSTOCK_RETURN_IF_ERROR(CheckBudgets(outputs, options));
  return outputs;
}

}  // namespace penstock
