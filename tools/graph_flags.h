// The flags of every command that reads a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/graphs/graph.h"
#include "penstock/memory/stream.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own.
class App;
}

namespace penstock {

struct GraphFlags {
  std::string graph;                       // The file.
  std::optional<std::string> data;         // --data: short for --var data=PATH.
  std::optional<std::string> sample_data;  // --sample_data: used, and said so, if none is named.
  std::vector<std::string> variables;      // --var name=value
  std::vector<std::string> overrides;      // --set node.field=value
  std::string device = "auto";
};

void AddGraphFlags(CLI::App& command, GraphFlags& flags);

// Errors are those of LoadGraph; InvalidArgument for a variable that is named twice.
absl::StatusOr<Graph> LoadGraph(const GraphFlags& flags);

// What `--device` means for a plan, without a run: CUDA need not be there to plan for "cuda:0", and
// "auto" means CUDA where it is usable.
struct PlannedDevices {
  DeviceKind kind = DeviceKind::kSim;
  int64_t count = 1;
};
absl::StatusOr<PlannedDevices> PlanDevices(const std::string& names);

}  // namespace penstock
