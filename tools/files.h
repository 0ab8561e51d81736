// Files that the command writes.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Writes `parts`, one behind the other, in place of what `path` may have held. The error names the
// file and the system's reason.
absl::Status WriteFile(const std::string& path, std::initializer_list<absl::string_view> parts);

// Whether WriteFile() will find a way there: found out before a long run, not behind it. Leaves no
// trace.
absl::Status CheckWritable(const std::string& path);

// Makes the folder, and those above it; it may exist.
absl::Status MakeFolder(const std::string& path);

}  // namespace penstock
