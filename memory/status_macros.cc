#include "penstock/memory/status_macros.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// The path below the workspace: what a reader of the message can open.
const char* ShortPath(const char* path) {
  for (const char* folder : {"memory/", "stages/", "scheduler/", "graphs/", "tools/", "tests/"}) {
    if (const char* found = std::strstr(path, folder)) return found;
  }
  return path;
}

}  // namespace

absl::Status WithLocation(absl::Status status, std::source_location where) {
  if (status.code() != absl::StatusCode::kInternal || absl::EndsWith(status.message(), "]")) {
    return status;
  }
  return absl::InternalError(
      absl::StrCat(status.message(), " [", ShortPath(where.file_name()), ":", where.line(), "]"));
}

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

absl::Status CombineErrors(std::initializer_list<absl::Status> checks) {
  absl::Status all;
  for (const absl::Status& check : checks) {
    if (check.ok()) continue;
    all = all.ok() ? check
                   : absl::Status(all.code(), absl::StrCat(all.message(), "\n", check.message()));
  }
  return all;
}

}  // namespace penstock
