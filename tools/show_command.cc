#include "penstock/tools/show_command.h"

#include "absl/strings/str_cat.h"
#include "penstock/graphs/memory_plan.h"
#include "penstock/graphs/plan_report.h"
#include "penstock/tools/messages.h"
#include "penstock/tools/plan_graph.h"

namespace penstock {

int ShowCommand(const GraphFlags& flags) {
  const absl::StatusOr<Graph> graph = LoadGraph(flags);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  const absl::StatusOr<PlannedGraph> planned = PlanGraph(*graph, flags);
  if (!planned.ok()) return Report(planned.status());
  const PlannerOptions& options = planned->options;
  Print(absl::StrCat(graph->config().name(), ", planned for ",
                     options.device == DeviceKind::kCuda ? "CUDA" : "the CPU (host, sim)", "\n"));
  for (const PlannedOutput& output : planned->outputs) {
    Print(absl::StrCat("\n", PlanReport(output)));
  }
  Print(absl::StrCat("\n", MemoryReport(planned->outputs, options)));
  return kGood;
}

}  // namespace penstock
