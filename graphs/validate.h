// Validation of a graph's form: names, inputs, cycles, roles. Before any stage is made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/stages/registry.h"

namespace penstock {

// A node with its names and options resolved.
struct ValidNode {
  std::string name;
  std::string random_key;
  int input = -1;                          // Index of the node that it reads from; -1 for a source.
  const Registry::Entry* entry = nullptr;  // Its stage.
  std::unique_ptr<google::protobuf::Message> options;
};

struct ValidGraph {
  std::vector<ValidNode> nodes;  // As in the config.
  // One a terminal node, in config order: the nodes from the source down to it. Each is
  //   source, sample stages, Collate, batch stages, [Pin], Upload, sample stages (on the device).
  std::vector<std::vector<int>> outputs;
};

// Checks everything that needs no stage object: format, batches_in_flight, unknown fields (also of
// graphs built in C++ or read from binary), unknown stages (with the known ones and the nearest
// name), names (form, twice), inputs (missing, unknown with the nearest name, too many, to a
// source), cycles (listed in order), and the order of roles on each way from a source to a terminal
// node ("'normalize' stands before Collate; move it behind Upload" is the planner's, which knows
// the stage). All faults go into `errors`; the result is usable only if it stays empty.
ValidGraph ValidateGraph(const Graph& graph, const Registry& registry, GraphErrors& errors);

}  // namespace penstock
