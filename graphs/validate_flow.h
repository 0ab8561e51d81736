// The parts of validation that look at how nodes follow each other: inputs, cycles, order of roles.
#pragma once

#include <vector>

#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/validate.h"

namespace penstock {

// Sets each node's input. Reports inputs that are missing, unknown, too many, or a source's.
void LinkInputs(const Graph& graph, std::vector<ValidNode>& nodes, GraphErrors& errors);

// Reports each cycle once, at its first node in the text, as "a -> b -> a" in the direction of the
// flow.
void CheckCycles(const std::vector<ValidNode>& nodes, GraphErrors& errors);

// The way from a source to each node that no other one reads from; see ValidGraph::outputs. Ways
// without a source are left out.
std::vector<std::vector<int>> TraceOutputs(const std::vector<ValidNode>& nodes);

// Reports nodes that stand where their role has no place, and ways that end too early.
void CheckRoles(const std::vector<ValidNode>& nodes, const std::vector<std::vector<int>>& outputs,
                GraphErrors& errors);

}  // namespace penstock
