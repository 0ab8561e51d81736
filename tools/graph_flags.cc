#include "penstock/tools/graph_flags.h"

#include <map>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
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

void AddMemory(CLI::App& command, GraphFlags& flags) {
  AddBytes(command, "--max_pinned", "Page-locked memory of the plan at most; 0: no budget [0]",
           flags.max_pinned);
  AddBytes(command, "--max_device", "Memory of the plan on each device at most; 0: no budget [0]",
           flags.max_device);
  AddInteger(command, "--local_world", 0, kMaxWorld,
             "Processes like this one that share the machine's memory; 0: as the launcher says [0]",
             flags.local_world);
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
  AddMemory(command, flags);
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

}  // namespace penstock
