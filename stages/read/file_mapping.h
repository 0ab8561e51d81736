// FileMapping: a file's bytes in memory, read-only.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// Move-only; unmaps when destroyed.
class FileMapping {
 public:
  FileMapping() = default;
  // Maps the whole file. Errors as FileError(); what is empty, or no regular file, is
  // FailedPrecondition.
  static absl::StatusOr<FileMapping> Open(const std::string& path);
  FileMapping(FileMapping&& other) noexcept;
  FileMapping& operator=(FileMapping&& other) noexcept;
  ~FileMapping();

  // Starts a page. Not to be written.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  static absl::StatusOr<FileMapping> Map(int descriptor, const std::string& path);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// True if the file's pages are memory (tmpfs, hugetlbfs), so that a mapping can be page-locked.
bool IsInMemory(const std::string& path);

}  // namespace penstock
