#include "penstock/graphs/overrides.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "penstock/graphs/field_value.h"
#include "penstock/graphs/names.h"

namespace penstock {
namespace {

constexpr char kForm[] = "expected node.field=value or, for the graph itself, field=value";

// Numbers of the nodes with that name.
std::vector<int> Find(const GraphConfig& config, absl::string_view name) {
  std::vector<int> found;
  for (int i = 0; i < config.node_size(); ++i) {
    if (NodeName(config.node(i)) == name) found.push_back(i);
  }
  return found;
}

std::string NoSuchStart(const GraphConfig& config, const std::string& name) {
  std::vector<std::string> known;
  for (const NodeConfig& node : config.node()) known.push_back(NodeName(node));
  const auto* graph = GraphConfig::descriptor();
  for (int i = 0; i < graph->field_count(); ++i) {
    if (graph->field(i)->number() != GraphConfig::kNodeFieldNumber) {
      known.emplace_back(graph->field(i)->name());
    }
  }
  return absl::StrCat("there is no node or field '", name, "'", Hint(name, known, "there are"));
}

// Sets a field of a node's options. Returns the path of what was set.
absl::StatusOr<std::string> SetInNode(int number, const std::vector<std::string>& path,
                                      absl::string_view value, const AnyTypes& types,
                                      GraphConfig& config) {
  google::protobuf::Any& stage = *config.mutable_node(number)->mutable_stage();
  auto options = types.Unpack(stage);
  if (!options.ok()) return options.status();
  if (absl::Status status = SetField(path, value, types, **options); !status.ok()) return status;
  stage.set_value((*options)->SerializePartialAsString());
  return absl::StrCat("node[", number, "].stage.", absl::StrJoin(path, "."));
}

absl::StatusOr<std::string> Apply(const std::string& override, const AnyTypes& types,
                                  GraphConfig& config) {
  const size_t equals = override.find('=');
  if (equals == std::string::npos) return absl::InvalidArgumentError(kForm);
  std::vector<std::string> path =
      absl::StrSplit(absl::StripAsciiWhitespace(override.substr(0, equals)), '.');
  if (std::count(path.begin(), path.end(), "") > 0) return absl::InvalidArgumentError(kForm);
  const absl::string_view value = absl::string_view(override).substr(equals + 1);

  const std::string start = path[0];
  const std::vector<int> nodes = Find(config, start);
  if (nodes.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(nodes.size(), " nodes are named '", start, "'; give them names"));
  }
  const bool is_field = GraphConfig::descriptor()->FindFieldByName(start) != nullptr;
  if (nodes.empty()) {
    if (!is_field) return absl::InvalidArgumentError(NoSuchStart(config, start));
    if (start == "node") return absl::InvalidArgumentError("nodes are set one field at a time");
    if (absl::Status status = SetField(path, value, types, config); !status.ok()) return status;
    return absl::StrJoin(path, ".");
  }
  path.erase(path.begin());
  if (path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", start, "' is a node; ", kForm));
  }
  return SetInNode(nodes[0], path, value, types, config);
}

}  // namespace

void ApplyOverrides(const std::vector<std::string>& overrides, const AnyTypes& types,
                    GraphConfig& config, GraphLocations& locations, GraphErrors& errors) {
  for (const std::string& override : overrides) {
    const absl::StatusOr<std::string> path = Apply(override, types, config);
    if (path.ok()) {
      locations.Override(*path, override);
    } else if (!absl::IsNotFound(path.status())) {  // A stage that is unknown: validation says so.
      errors.Add({0, 0, override}, path.status().message());
    }
  }
}

}  // namespace penstock
