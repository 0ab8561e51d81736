#include "penstock/tools/plan_graph.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/memory_limits.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/messages.h"

namespace penstock {
namespace {

struct PlannedDevice {
  DeviceKind kind = DeviceKind::kSim;
  std::string name;  // As a run's device has it.
};

// Opens only what has no number: which one that is, the machine says.
absl::StatusOr<PlannedDevice> FindDevice(const std::string& name) {
  using Form = DeviceName::Form;
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceName parsed, ParseDeviceName(name));
  if (parsed.form == Form::kHost || parsed.form == Form::kSim) {
    return PlannedDevice{DeviceKind::kSim, name};
  }
  if (parsed.ordinal) {
    return PlannedDevice{DeviceKind::kCuda, absl::StrCat("cuda:", *parsed.ordinal)};
  }
  const absl::StatusOr<std::shared_ptr<Device>> opened = OpenDevice(name);
  if (opened.ok()) return PlannedDevice{(*opened)->kind(), (*opened)->name()};
  if (parsed.form == Form::kAuto) return PlannedDevice{DeviceKind::kSim, "host"};
  return opened.status();
}

// A simulated device may be there several times: each is one of its own.
absl::Status CheckNoneTwice(const std::vector<PlannedDevice>& devices) {
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = 0; devices[i].kind == DeviceKind::kCuda && j < i; ++j) {
      if (devices[j].name != devices[i].name) continue;
      return absl::InvalidArgumentError(absl::StrCat("devices: numbers ", j, " and ", i, " are ",
                                                     devices[i].name,
                                                     "; expected each device once"));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanDevices(const std::string& names, PlannerOptions& options) {
  std::vector<PlannedDevice> devices;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(names, ','))) {
    PENSTOCK_ASSIGN_OR_RETURN(devices.emplace_back(), FindDevice(name));
    if (devices.back().kind != devices.front().kind) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: \"", names, "\" mixes CUDA with the CPU; expected one kind"));
    }
  }
  options.device = devices.front().kind;
  options.devices = static_cast<int64_t>(devices.size());
  return CheckNoneTwice(devices);
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
  const MemoryLimits machine = ReadMemoryLimits();
  if (flags.local_world > 0) {
    options.local_world = {flags.local_world, "local_world"};
    options.machine = machine;
  }
  PENSTOCK_ASSIGN_OR_RETURN(planned.outputs, MakePlans(graph, options));
  options.machine = machine;
  return planned;
}

}  // namespace penstock
