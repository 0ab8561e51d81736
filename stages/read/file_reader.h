// FileReader: the file I/O of sources. Only the scheduler's I/O threads call it, since it blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "penstock/stages/source.h"

namespace penstock {

// The Status of a failed system call on `path`: "PATH: No such file or directory". NotFound and
// PermissionDenied are told apart; never InvalidArgument, which is kept for graphs.
absl::Status FileError(int error_number, absl::string_view path);

// One a thread; thread-compatible. Files that extents are parts of (CIFAR's) stay open, the last
// few of them; a file that is one sample is closed at once. Descriptors that run out are given back
// first.
class FileReader {
 public:
  static constexpr size_t kKeptOpen = 8;

  FileReader() = default;
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;
  ~FileReader();

  // Bytes of the extent: as it says, else from its offset to the file's end.
  absl::StatusOr<int64_t> Measure(const Extent& extent);
  // Fills `to`, whose size is what Measure() gave. DataLoss: the file has become shorter.
  absl::Status Read(const Extent& extent, absl::Span<std::byte> to);

 private:
  struct OpenFile {
    std::string path;
    int descriptor;
  };

  absl::StatusOr<int> Open(const std::string& path);
  absl::StatusOr<int> Keep(const std::string& path);
  void CloseAll();

  std::vector<OpenFile> kept_;  // The one used last stands last.
};

}  // namespace penstock
