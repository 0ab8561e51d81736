// GraphLocations: where each part of a graph was set.
//
// Parts are named by their path in GraphConfig; a stage's options follow `stage` directly:
// "batches_in_flight", "order.shuffle", "node[3]", "node[3].input[0]", "node[3].stage.size.height".
// The first element of a list is also found without its index ("node[3].input").
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "penstock/graphs/any_types.h"

namespace penstock {

struct Location {
  int line = 0, column = 0;  // 1-based; a tab goes to the next multiple of 8. 0: unknown.
  std::string override;      // The "--set" that set it instead of the text; else "".
};

// Thread-compatible.
class GraphLocations {
 public:
  explicit GraphLocations(std::string file) : file_(std::move(file)) {}

  // The name used in errors.
  const std::string& file() const { return file_; }

  // Records all fields of `message`, which was parsed with `tree`, also inside Any messages. `path`
  // is that of `message`: "" for a GraphConfig.
  void Record(const google::protobuf::Message& message,
              const google::protobuf::TextFormat::ParseInfoTree& tree, const std::string& path,
              const AnyTypes& types);
  // Forgets where `path` and all below it was set: `override` did.
  void Override(const std::string& path, absl::string_view override);

  // Null if `path` was not set.
  const Location* Find(const std::string& path) const;

 private:
  void RecordField(const google::protobuf::Message& message,
                   const google::protobuf::FieldDescriptor* field,
                   const google::protobuf::TextFormat::ParseInfoTree& tree, const std::string& path,
                   const AnyTypes& types);

  std::string file_;
  std::map<std::string, Location> locations_;
};

}  // namespace penstock
