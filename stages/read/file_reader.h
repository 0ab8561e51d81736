// FileReader: the file I/O of sources. Only the scheduler's I/O threads call it, since it blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/stages/read/direct_reader.h"
#include "penstock/stages/read/file_error.h"
#include "penstock/stages/source.h"

namespace penstock {

// One a thread; thread-compatible. Files that extents are parts of (CIFAR's) stay open, the last
// few of them; a file that is one sample is closed at once. Descriptors that run out are given back
// first.
//
// Parts of a file are read through the page cache, or past it where that is better or asked for
// (Extent::access): see page_cache.h. A file system that has no such reads gets ordinary ones.
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
    FileAccess access;
    int descriptor;
    std::optional<DirectAlignment> direct;  // Of a descriptor that reads past the page cache.
  };

  absl::StatusOr<int> Open(const std::string& path);
  absl::StatusOr<const OpenFile*> Keep(const Extent& extent);
  void GoDirect(OpenFile& file);
  absl::Status ReadAfterAll(const Extent& extent, absl::Span<std::byte> to);
  void CloseAll();

  std::vector<OpenFile> kept_;  // The one used last stands last.
  DirectReader direct_;
};

}  // namespace penstock
