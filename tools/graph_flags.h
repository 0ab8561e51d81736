// The flags of every command that reads a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/graphs/graph.h"

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
  // What its plan may take.
  int64_t max_pinned = 0, max_device = 0;  // Bytes; 0: no budget.
  int64_t local_world = 0;                 // Processes on this machine; 0: as the launcher says.
};

inline constexpr int64_t kMaxWorld = 1'000'000;  // Processes of one job.

void AddGraphFlags(CLI::App& command, GraphFlags& flags);

// Errors are those of LoadGraph; InvalidArgument for a variable that is named twice.
absl::StatusOr<Graph> LoadGraph(const GraphFlags& flags);

}  // namespace penstock
