#include "penstock/tools/plan_graph.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/memory_limits.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/messages.h"

namespace penstock {
namespace {

// Of one name.
absl::StatusOr<DeviceKind> PlannedKind(const std::string& name) {
  if (name == "host" || name == "sim") return DeviceKind::kSim;
  if (absl::StartsWith(name, "cuda:")) return DeviceKind::kCuda;
  const absl::StatusOr<std::shared_ptr<Device>> opened = OpenDevice(name);
  if (opened.ok()) return (*opened)->kind();
  if (name == "auto") return DeviceKind::kSim;
  return opened.status();
}

absl::Status PlanDevices(const std::string& names, PlannerOptions& options) {
  const std::vector<std::string> list = absl::StrSplit(names, ',');
  for (const std::string& name : list) {
    PENSTOCK_ASSIGN_OR_RETURN(const DeviceKind kind, PlannedKind(name));
    if (&name == &list.front()) options.device = kind;
    if (kind != options.device) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: \"", names, "\" mixes CUDA with the CPU; expected one kind"));
    }
  }
  options.devices = static_cast<int64_t>(list.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedGraph> PlanGraph(const Graph& graph, const GraphFlags& flags) {
  PlannedGraph planned;
  PlannerOptions& options = planned.options;
  PENSTOCK_RETURN_IF_ERROR(PlanDevices(flags.device, options));
  options.max_pinned_bytes = flags.max_pinned;
  options.max_device_bytes = flags.max_device;
  options.local_world = FindLocalWorld(std::getenv);
  options.log = PrintMessage;
  if (flags.local_world > 0) {
    options.local_world = {flags.local_world, "local_world"};
    options.machine = ReadMemoryLimits();
  }
  PENSTOCK_ASSIGN_OR_RETURN(planned.outputs, MakePlans(graph, options));
  return planned;
}

}  // namespace penstock
