// GraphErrors: collects every fault of a graph, so that all are reported at once.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/locations.h"

namespace penstock {

// Thread-compatible. Lines come out in the order of the text; what stands nowhere in it comes last.
class GraphErrors {
 public:
  explicit GraphErrors(const Graph& graph) : graph_(graph) {}

  // A fault of node number `node`: "file:line:column: node 'decode': <message>". `field` (may be
  // "") is a field of the NodeConfig ("input", "name") or of its options ("size.height"); the line
  // is that of the field where it was set, else of the node. A field that was set by --set names
  // that instead. Without text: "node 'decode', field: <message>".
  void AddNode(int node, absl::string_view name, absl::string_view field,
               absl::string_view message);
  // A fault of the graph itself; `field` as above ("batches_in_flight").
  void AddGraph(absl::string_view field, absl::string_view message);
  // A fault at a place of the text, or of an override.
  void Add(const Location& where, absl::string_view message);

  bool empty() const { return errors_.empty(); }
  // OK, or InvalidArgument with one line an error.
  absl::Status status() const;

  // "file:line:column", the override's text, or "file" for what stands nowhere.
  std::string Place(const Location& where) const;

 private:
  // Whether it stands nowhere in the text, else line and column.
  using Key = std::tuple<bool, int, int>;

  // Null for a graph without text, or if it was set neither there nor by an override.
  const Location* Find(const std::string& path) const;
  // Where the node, its field or an option of its stage was set.
  const Location* FindInNode(int node, std::string field) const;

  const Graph& graph_;
  std::multimap<Key, std::string> errors_;  // Equal keys stay in the order of their coming.
};

// The option that a stage's own message begins with ("batch_size is 0, ..." -> "batch_size"), so
// that its line can be named; "" if it names none of `options`' fields.
std::string LeadingField(absl::string_view message, const google::protobuf::Message& options);

}  // namespace penstock
