#include "penstock/tools/show_command.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/memory_plan.h"
#include "penstock/graphs/plan_report.h"
#include "penstock/graphs/planner.h"
#include "penstock/memory/memory_limits.h"
#include "penstock/tools/messages.h"

namespace penstock {

int ShowCommand(const GraphFlags& flags) {
  const absl::StatusOr<Graph> graph = LoadGraph(flags);
  if (!graph.ok()) return ReportWrongInput(graph.status());
  const absl::StatusOr<PlannedDevices> devices = PlanDevices(flags.device);
  if (!devices.ok()) return Report(devices.status());
  PlannerOptions options;
  options.device = devices->kind;
  options.devices = devices->count;
  const auto plans = MakePlans(*graph, options);
  if (!plans.ok()) return Report(plans.status());
  // Named and not obeyed: the plan may be for another machine.
  options.machine = ReadMemoryLimits();
  options.local_world = FindLocalWorld(std::getenv);
  Print(absl::StrCat(graph->config().name(), ", planned for ",
                     devices->kind == DeviceKind::kCuda ? "CUDA" : "the CPU (host, sim)", "\n"));
  for (const PlannedOutput& output : *plans) Print(absl::StrCat("\n", PlanReport(output)));
  Print(absl::StrCat("\n", MemoryReport(*plans, options)));
  return kGood;
}

}  // namespace penstock
