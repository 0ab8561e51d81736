// Options of a message, as text for people.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace penstock {

// The comment before a message, line by line, without the space behind "//".
std::vector<std::string> CommentLines(const google::protobuf::Descriptor& message);

// Every field with its type and the comments at it, and the values of an enum, each line after
// `indent`.
std::string OptionsText(const google::protobuf::Descriptor& message, absl::string_view indent);

}  // namespace penstock
