// What is said of files that can't be read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// The Status of a failed system call on `path`: "PATH: No such file or directory". NotFound and
// PermissionDenied are told apart; never InvalidArgument, which is kept for graphs.
absl::Status FileError(int error_number, absl::string_view path);

// DataLoss: of `wanted` bytes from `offset` on, the file had only `got`.
absl::Status ShortenedFile(absl::string_view path, int64_t got, size_t wanted, int64_t offset);

}  // namespace penstock
