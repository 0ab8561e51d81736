#include "penstock/stages/read/file_mapping.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/stages/read/file_error.h"
#include "penstock/stages/read/printable.h"

namespace penstock {

absl::StatusOr<FileMapping> FileMapping::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return FileError(errno, path);
  absl::StatusOr<FileMapping> mapping = Map(descriptor, path);
  close(descriptor);
  return mapping;
}

absl::StatusOr<FileMapping> FileMapping::Map(int descriptor, const std::string& path) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return FileError(errno, path);
  if (S_ISDIR(info.st_mode)) return FileError(EISDIR, path);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(Printable(path), ": not a regular file"));
  }
  if (info.st_size == 0) {
    return absl::FailedPreconditionError(absl::StrCat(Printable(path), ": empty file"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* const data = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return FileError(errno, path);
  FileMapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.size_ = size;
  return mapping;
}

FileMapping::FileMapping(FileMapping&& other) noexcept { *this = std::move(other); }

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

FileMapping::~FileMapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

bool IsInMemory(const std::string& path) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) return false;
  return info.f_type == TMPFS_MAGIC || info.f_type == HUGETLBFS_MAGIC;
}

}  // namespace penstock
