#include "penstock/graphs/validate.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/text_faults.h"
#include "penstock/graphs/validate_flow.h"
#include "penstock/graphs/validate_nodes.h"

namespace penstock {
namespace {

bool IsGraphName(const std::string& name) {
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return !name.empty();
}

void CheckSettings(const GraphConfig& config, GraphErrors& errors) {
  if (config.has_format() && config.format() != 1) {
    errors.AddGraph("format",
                    absl::StrCat("format is ", config.format(),
                                 ", expected 1; was this graph written for a newer version?"));
  }
  if (config.has_name() && !IsGraphName(config.name())) {
    errors.AddGraph("name", absl::StrCat("name is '", config.name(),
                                         "', expected letters, digits and underscores"));
  }
  const int batches = config.batches_in_flight();
  if (config.has_batches_in_flight() &&
      (batches < kMinBatchesInFlight || batches > kMaxBatchesInFlight)) {
    errors.AddGraph("batches_in_flight",
                    absl::StrCat("batches_in_flight is ", batches, ", expected ",
                                 kMinBatchesInFlight, " to ", kMaxBatchesInFlight));
  }
}

}  // namespace

ValidGraph ValidateGraph(const Graph& graph, const Registry& registry, GraphErrors& errors) {
  CheckSettings(graph.config(), errors);
  GraphConfig own = graph.config();  // The graph's own fields; nodes are checked one by one.
  own.clear_node();
  CheckKnown(own, "", AnyTypes(registry), [&](const std::string& path, const std::string& message) {
    errors.AddGraph(path, message);
  });
  ValidGraph valid;
  valid.nodes = ResolveStages(graph, registry, errors);
  if (valid.nodes.empty()) errors.AddGraph("", "the graph has no node, expected a source first");
  CheckNames(graph, valid.nodes, errors);
  LinkInputs(graph, valid.nodes, errors);
  CheckCycles(valid.nodes, errors);
  valid.outputs = TraceOutputs(valid.nodes);
  CheckRoles(valid.nodes, valid.outputs, errors);
  return valid;
}

}  // namespace penstock
