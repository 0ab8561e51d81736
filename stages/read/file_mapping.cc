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
  struct stat info;
  if (fstat(descriptor, &info) != 0) info.st_size = 0;
  FileMapping mapping;
  mapping.size_ = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, mapping.size_, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (mapping.size_ == 0) {
    return absl::FailedPreconditionError(absl::StrCat(Printable(path), ": empty file"));
  }
  if (data == MAP_FAILED) return FileError(error, path);
  mapping.data_ = static_cast<std::byte*>(data);
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
