// Graph: a GraphConfig and where each of its parts stands in the text.
//
//   PENSTOCK_ASSIGN_OR_RETURN(Graph graph, LoadGraph("train.textproto", {{"data",
//   "/data/train"}}));
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/stages/registry.h"

namespace penstock {

class GraphLocations;  // Line and column of each parsed field; graphs/locations.h.

// What is filled in and overridden when a graph is loaded.
struct GraphEdits {
  // ${name} in any string field is replaced by its value. A name that the graph does not use is an
  // error, and so is one that is left unfilled.
  std::map<std::string, std::string> variables;
  // "node.field.path=value" (value in text format; quotes around a string may be left out), or
  // "batches_in_flight=6" for a field of the graph itself. Applied after the variables, in order.
  std::vector<std::string> overrides;
};

// Copyable, thread-compatible. Made by LoadGraph, ParseGraph, or from a config built in C++, which
// has no text: errors then name node and field instead of line and column.
class Graph {
 public:
  explicit Graph(GraphConfig config);
  Graph(GraphConfig config, std::shared_ptr<const GraphLocations> locations);

  const GraphConfig& config() const { return config_; }
  GraphConfig& mutable_config() { return config_; }
  // Null for a graph that was built in C++.
  const GraphLocations* locations() const { return locations_.get(); }

 private:
  GraphConfig config_;
  std::shared_ptr<const GraphLocations> locations_;
};

// Reads a graph file. Errors: NotFound and the like for the file; InvalidArgument with ALL faults
// of the text, one a line, each "file:line:column: what, what was expected, the nearest name".
absl::StatusOr<Graph> LoadGraph(const std::string& path, const GraphEdits& edits,
                                const Registry& registry = Registry::Default());
// The short forms: variables only, in braces ({{"data", "/data/train"}}) or as a map.
absl::StatusOr<Graph> LoadGraph(
    const std::string& path,
    std::initializer_list<std::pair<const std::string, std::string>> variables = {});
absl::StatusOr<Graph> LoadGraph(const std::string& path,
                                const std::map<std::string, std::string>& variables);

// The same for text; `file` is the name used in errors.
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const std::string& file,
                                 const GraphEdits& edits = {},
                                 const Registry& registry = Registry::Default());

}  // namespace penstock
