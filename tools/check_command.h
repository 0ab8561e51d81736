// `penstock check`: lists all that is wrong with a graph.
#pragma once

#include "penstock/tools/graph_flags.h"

namespace penstock {

// Returns the code to exit with: 0 for a good graph, 2 for a wrong one or one that needs more than
// the budgets, 1 for wrong data or a machine that is too small.
int CheckCommand(const GraphFlags& flags);

}  // namespace penstock
