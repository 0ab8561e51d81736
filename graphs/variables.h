// Variables: ${name} in the strings of a graph.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/graphs/graph_errors.h"

namespace penstock {

// `text` with each ${name} replaced by its value and each $$ by one $. Any other $ stands for
// itself, and values are taken as they are: a ${name} in a value stays. Names are
// [A-Za-z_][A-Za-z0-9_]* and are added to `used`. InvalidArgument: a variable without a value, a
// brace that is not closed, a name of another form.
absl::StatusOr<std::string> Expand(absl::string_view text,
                                   const std::map<std::string, std::string>& variables,
                                   std::set<std::string>& used);

// Expands all strings of `config`, also in lists, nested messages and Any messages (but no bytes).
// Faults, and variables that no string uses, go into `errors`.
void ExpandVariables(const std::map<std::string, std::string>& variables, const AnyTypes& types,
                     GraphConfig& config, GraphErrors& errors);

}  // namespace penstock
