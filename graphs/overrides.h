// Overrides: "node.field.path=value" and "field=value" of the command's --set.
#pragma once

#include <string>
#include <vector>

#include "penstock/graphs/any_types.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/locations.h"

namespace penstock {

// Applies `overrides` in order; a later one wins. The first part of a path is the name of a node,
// explicit or default, or else a field of the graph; what follows are fields of the node's options,
// as SetField has them. Faults go into `errors`, and what was set into `locations`, so that errors
// about a value name the override that brought it.
void ApplyOverrides(const std::vector<std::string>& overrides, const AnyTypes& types,
                    GraphConfig& config, GraphLocations& locations, GraphErrors& errors);

}  // namespace penstock
