// One value in text format, as --set has it, put into a field of a message.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "penstock/graphs/any_types.h"

namespace penstock {

// Sets the field that `path` leads to, through messages, from `root`. `value` is in text format:
//   8, 0.5, true, DROP, "a string", {height: 2 width: 3}, [0.5, 0.25]
// One integer may also be a number of bytes with a unit, as ParseByteCount() has it: 5GiB.
// Strings may do without quotes; they are then taken as they are, and end at a comma in a list. A
// list is replaced as a whole, by [...] or by a single element. InvalidArgument: no such field,
// with the nearest; a value of another type or out of range. `root` is then as before.
absl::Status SetField(const std::vector<std::string>& path, absl::string_view value,
                      const AnyTypes& types, google::protobuf::Message& root);

}  // namespace penstock
