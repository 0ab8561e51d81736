#include "penstock/graphs/graph.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/locations.h"
#include "penstock/graphs/names.h"
#include "penstock/graphs/overrides.h"
#include "penstock/graphs/parse_text.h"
#include "penstock/graphs/validate.h"
#include "penstock/graphs/validate_nodes.h"
#include "penstock/graphs/variables.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a folder, expected a graph"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  // One byte more than a graph may have, so that the parser sees that it is too large: not every
  // file has an end.
  std::string text(size_t{kMaxTextBytes} + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno, absl::StrCat(path, ": cannot be read"));
  }
  return text;
}

// The file's name without its ending, as a graph's name may be.
std::string NameOf(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

void AddFault(const TextFault& fault, const GraphConfig& config, GraphErrors& errors) {
  const std::string node =
      fault.node >= 0 && fault.node < config.node_size() ? NodeName(config.node(fault.node)) : "";
  errors.Add({fault.line, fault.column, ""},
             node.empty() ? fault.message : absl::StrCat("node '", node, "': ", fault.message));
}

}  // namespace

Graph::Graph(GraphConfig config) : config_(std::move(config)) {}

Graph::Graph(GraphConfig config, std::shared_ptr<const GraphLocations> locations)
    : config_(std::move(config)), locations_(std::move(locations)) {}

absl::StatusOr<Graph> LoadGraph(const std::string& path, const GraphEdits& edits,
                                const Registry& registry) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  PENSTOCK_ASSIGN_OR_RETURN(Graph graph, ParseGraph(text, path, edits, registry));
  if (!graph.config().has_name()) graph.mutable_config().set_name(NameOf(path));
  return graph;
}

absl::StatusOr<Graph> LoadGraph(
    const std::string& path,
    std::initializer_list<std::pair<const std::string, std::string>> variables) {
  return LoadGraph(path, std::map<std::string, std::string>(variables));
}

absl::StatusOr<Graph> LoadGraph(const std::string& path,
                                const std::map<std::string, std::string>& variables) {
  GraphEdits edits;
  edits.variables = variables;
  return LoadGraph(path, edits);
}

absl::StatusOr<Graph> ParseGraph(absl::string_view text, const std::string& file,
                                 const GraphEdits& edits, const Registry& registry) {
  const AnyTypes types(registry);
  ParsedText parsed = ParseText(text, file, types);
  Graph graph(std::move(parsed.config), parsed.locations);
  GraphErrors errors(graph);
  bool form_is_known = parsed.complete;
  for (const TextFault& fault : parsed.faults) {
    AddFault(fault, graph.config(), errors);
    form_is_known = form_is_known && !fault.hides_form;
  }
  if (parsed.complete) {
    ExpandVariables(edits.variables, types, graph.mutable_config(), errors);
    ApplyOverrides(edits.overrides, types, graph.mutable_config(), *parsed.locations, errors);
  }
  if (errors.empty() && !parsed.has_unknown_types) return graph;

  // Refused; so say all that is wrong, unless it would only follow from a part that was skipped.
  if (form_is_known) {
    ValidateGraph(graph, registry, errors);
  } else {
    ResolveStages(graph, registry, errors);
  }
  if (errors.empty()) return graph;  // An override took the place of what was unknown.
  return errors.status();
}

}  // namespace penstock
