#include "penstock/tools/graph_flags.h"

#include <map>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tools/flag_values.h"
#include "penstock/tools/messages.h"

namespace penstock {
namespace {

absl::Status SetVariable(const std::string& name, const std::string& value,
                         std::map<std::string, std::string>& variables) {
  if (variables.emplace(name, value).second) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the variable \"", name, "\" is given twice",
                   name == "data" ? " (--data PATH is short for --var data=PATH)" : ""));
}

// Of one name.
absl::StatusOr<DeviceKind> PlannedKind(const std::string& name) {
  if (name == "host" || name == "sim") return DeviceKind::kSim;
  if (absl::StartsWith(name, "cuda:")) return DeviceKind::kCuda;
  const absl::StatusOr<std::shared_ptr<Device>> opened = OpenDevice(name);
  if (opened.ok()) return (*opened)->kind();
  if (name == "auto") return DeviceKind::kSim;
  return opened.status();
}

}  // namespace

void AddGraphFlags(CLI::App& command, GraphFlags& flags) {
  command.add_option("GRAPH", flags.graph, "The graph, a textproto file")
      ->type_name("FILE")
      ->required();
  command.add_option("--data", flags.data, "The data: short for --var data=PATH")
      ->type_name("PATH");
  command
      .add_option("--sample_data", flags.sample_data,
                  "The data to use, and to say so, if none is named")
      ->type_name("PATH");
  AddAssignments(command, "--var", "NAME=VALUE", "Fills ${NAME} in the graph; repeatable",
                 flags.variables);
  AddAssignments(command, "--set", "NODE.FIELD=VALUE", "Overrides a field of the graph; repeatable",
                 flags.overrides);
  command
      .add_option("--device", flags.device,
                  "Where batches go: auto is CUDA, or host where there is no CUDA driver; several, "
                  "with commas, take turns")
      ->type_name("auto|cuda:N|host|sim")
      ->capture_default_str();
}

absl::StatusOr<Graph> LoadGraph(const GraphFlags& flags) {
  GraphEdits edits;
  edits.overrides = flags.overrides;
  for (const std::string& variable : flags.variables) {
    const size_t equals = variable.find('=');
    PENSTOCK_RETURN_IF_ERROR(
        SetVariable(variable.substr(0, equals), variable.substr(equals + 1), edits.variables));
  }
  if (flags.data) {
    PENSTOCK_RETURN_IF_ERROR(SetVariable("data", *flags.data, edits.variables));
  } else if (flags.sample_data && !edits.variables.contains("data")) {
    edits.variables["data"] = *flags.sample_data;
    Print(absl::StrCat("no --data; using the small data set in ", *flags.sample_data, "\n"));
  }
  return LoadGraph(flags.graph, edits);
}

absl::StatusOr<PlannedDevices> PlanDevices(const std::string& names) {
  const std::vector<std::string> list = absl::StrSplit(names, ',');
  PlannedDevices planned;
  for (const std::string& name : list) {
    PENSTOCK_ASSIGN_OR_RETURN(const DeviceKind kind, PlannedKind(name));
    if (&name == &list.front()) planned.kind = kind;
    if (kind != planned.kind) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: \"", names, "\" mixes CUDA with the CPU; expected one kind"));
    }
  }
  planned.count = static_cast<int64_t>(list.size());
  return planned;
}

}  // namespace penstock
