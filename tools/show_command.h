// `penstock show`: prints the plan for a graph.
#pragma once

#include "penstock/tools/graph_flags.h"

namespace penstock {

// Returns the code to exit with, as CheckCommand().
int ShowCommand(const GraphFlags& flags);

}  // namespace penstock
