#include "penstock/tools/check_command.h"

#include "absl/strings/str_cat.h"
#include "penstock/tools/messages.h"
#include "penstock/tools/plan_graph.h"

namespace penstock {

int CheckCommand(const GraphFlags& flags) {
  const absl::StatusOr<Graph> graph = LoadGraph(flags);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  const absl::StatusOr<PlannedGraph> planned = PlanGraph(*graph, flags);
  if (!planned.ok()) return Report(planned.status());
  Print(absl::StrCat(flags.graph, ": good, ", graph->config().node_size(), " nodes\n"));
  return kGood;
}

}  // namespace penstock
