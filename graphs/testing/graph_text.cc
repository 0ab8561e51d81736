#include "penstock/graphs/testing/graph_text.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/testing/stages.h"
#include "penstock/graphs/validate.h"

namespace penstock::testing {

std::string Node(const std::string& stage, const std::string& options, const std::string& fields) {
  return absl::StrCat("node { ", fields, fields.empty() ? "" : " ",
                      "stage { [type.googleapis.com/penstock.", stage, "] { ", options, " } } }\n");
}

std::string Head() { return Node("testing.ReadImages"); }

std::string Tail() { return absl::StrCat(Node("Collate", "batch_size: 8"), Node("Upload")); }

std::string Faults(const std::string& text, const GraphEdits& edits) {
  const absl::StatusOr<Graph> graph = ParseGraph(text, "g", edits, TestRegistry());
  if (!graph.ok()) return std::string(graph.status().message());
  GraphErrors errors(*graph);
  ValidateGraph(*graph, TestRegistry(), errors);
  return std::string(errors.status().message());
}

std::string Lines(const std::vector<std::string>& lines) { return absl::StrJoin(lines, "\n"); }

}  // namespace penstock::testing
