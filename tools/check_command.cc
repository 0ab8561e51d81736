#include "penstock/tools/check_command.h"

#include "absl/strings/str_cat.h"
#include "penstock/graphs/planner.h"
#include "penstock/tools/messages.h"

namespace penstock {

int CheckCommand(const GraphFlags& flags) {
  const absl::StatusOr<Graph> graph = LoadGraph(flags);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  const absl::StatusOr<PlannedDevices> devices = PlanDevices(flags.device);
  if (!devices.ok()) return Report(devices.status());
  PlannerOptions options;
  options.device = devices->kind;
  options.devices = devices->count;
  const auto plans = MakePlans(*graph, options);
  if (!plans.ok()) return Report(plans.status());
  Print(absl::StrCat(flags.graph, ": good, ", graph->config().node_size(), " nodes\n"));
  return kGood;
}

}  // namespace penstock
