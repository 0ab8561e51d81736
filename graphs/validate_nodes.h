// The parts of validation that look at one node at a time: its stage, its options, its name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/validate.h"

namespace penstock {

// Called with the path of a field below the message, and what is wrong with it.
using ReportFault = std::function<void(const std::string& path, const std::string& message)>;

// Reports what no reader of `message` knows: fields by number, values of enums by number, types in
// Any messages; also below it, and in Any messages.
void CheckKnown(const google::protobuf::Message& message, const std::string& path,
                const AnyTypes& types, const ReportFault& report);

// Finds each node's stage and unpacks its options. Reports nodes without stage, unknown stages,
// wrong prefixes and unknown options. Nodes have a name here, but neither inputs nor checked names.
std::vector<ValidNode> ResolveStages(const Graph& graph, const Registry& registry,
                                     GraphErrors& errors);

// Reports names of another form and names that occur twice.
void CheckNames(const Graph& graph, const std::vector<ValidNode>& nodes, GraphErrors& errors);

}  // namespace penstock
