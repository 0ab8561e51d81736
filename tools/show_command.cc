#include "penstock/tools/show_command.h"

#include "absl/strings/str_cat.h"
#include "penstock/graphs/plan_report.h"
#include "penstock/graphs/planner.h"
#include "penstock/tools/messages.h"

namespace penstock {

int ShowCommand(const GraphFlags& flags) {
  const absl::StatusOr<Graph> graph = LoadGraph(flags);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  const absl::StatusOr<DeviceKind> kind = PlannedKind(flags.device);
  if (!kind.ok()) return Report(kind.status());
  PlannerOptions options;
  options.device = *kind;
  const auto plans = MakePlans(*graph, options);
  if (!plans.ok()) return Report(plans.status());
  Print(absl::StrCat(graph->config().name(), ", planned for ",
                     *kind == DeviceKind::kCuda ? "CUDA" : "the CPU (host, sim)", "\n"));
  for (const PlannedOutput& output : *plans) Print(absl::StrCat("\n", PlanReport(output)));
  return kGood;
}

}  // namespace penstock
