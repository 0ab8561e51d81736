#include "penstock/stages/read/file_error.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "penstock/stages/read/printable.h"

namespace penstock {

absl::Status FileError(int error_number, absl::string_view path) {
  absl::Status status = absl::ErrnoToStatus(error_number, Printable(path));
  if (error_number == EMFILE) {
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), "; raise the limit with `ulimit -n`"));
  }
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::FailedPreconditionError(status.message());
}

absl::Status ShortenedFile(absl::string_view path, int64_t got, size_t wanted, int64_t offset) {
  return absl::DataLossError(absl::StrCat(Printable(path), ": ", got, " of ", wanted,
                                          " bytes at offset ", offset,
                                          "; the file has become shorter"));
}

}  // namespace penstock
