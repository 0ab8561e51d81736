// Text to GraphConfig, with all the faults that the text itself has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "penstock/graphs/any_types.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/graphs/locations.h"
#include "penstock/graphs/text_faults.h"

namespace penstock {

// Of a graph. Longer texts are refused.
inline constexpr int kMaxTextBytes = 16 << 20;

struct ParsedText {
  GraphConfig config;
  std::shared_ptr<GraphLocations> locations;
  std::vector<TextFault> faults;
  // False: a token or value error ended the reading, and `config` has the nodes above it.
  bool complete = true;
  // A type in an Any is unknown, or its prefix is not ours; validation says where.
  bool has_unknown_types = false;
};

// `file` is the name used in errors. Unknown fields are skipped and reported; so are the fields of
// stages whose type is unknown.
ParsedText ParseText(absl::string_view text, const std::string& file, const AnyTypes& types);

}  // namespace penstock
