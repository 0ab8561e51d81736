// Files of class names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// One name a line, in order; blank lines are skipped, line ends may be CRLF. An error names the
// file, and the line where a name stands twice.
absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path);

}  // namespace penstock
