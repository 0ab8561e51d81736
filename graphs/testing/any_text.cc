#include "penstock/graphs/testing/any_text.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/validate.h"

namespace penstock::testing {
namespace {

std::string CheckErrors(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return absl::StrCat("code: ", status.ToString());
  for (absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    const bool has_place = absl::StartsWith(line, "text:") || absl::StartsWith(line, "--set ");
    if (!has_place || line.size() < 10) return absl::StrCat("line: ", line);
  }
  return "";
}

}  // namespace

std::string Misbehaviour(absl::string_view text, const Registry& registry) {
  GraphEdits edits;
  edits.variables = {{"data", "/data"}};
  edits.overrides = {"collate.batch_size=3", "batches_in_flight=5"};
  const absl::StatusOr<Graph> graph = ParseGraph(text, "text", edits, registry);
  if (!graph.ok()) return CheckErrors(graph.status());
  GraphErrors errors(*graph);
  const ValidGraph valid = ValidateGraph(*graph, registry, errors);
  if (!errors.empty()) return CheckErrors(errors.status());
  return valid.outputs.empty() ? "valid, but without an output" : "";
}

}  // namespace penstock::testing
