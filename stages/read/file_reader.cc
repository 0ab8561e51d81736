#include "penstock/stages/read/file_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/page_cache.h"
#include "penstock/stages/read/printable.h"

namespace penstock {
namespace {

absl::Status ReadAll(int descriptor, const Extent& extent, absl::Span<std::byte> to) {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = pread(descriptor, to.data() + done, to.size() - done,
                            static_cast<off_t>(extent.offset + static_cast<int64_t>(done)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(errno, extent.file);
    if (n == 0) {
      return ShortenedFile(extent.file, static_cast<int64_t>(done), to.size(), extent.offset);
    }
    done += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

}  // namespace

FileReader::~FileReader() { CloseAll(); }

absl::StatusOr<int64_t> FileReader::Measure(const Extent& extent) {
  if (extent.bytes) return *extent.bytes;
  struct stat info;
  if (stat(extent.file.c_str(), &info) != 0) return FileError(errno, extent.file);
  if (S_ISDIR(info.st_mode)) return FileError(EISDIR, extent.file);
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(extent.file), ": not a regular file"));
  }
  if (info.st_size < extent.offset) {
    return absl::DataLossError(absl::StrCat(Printable(extent.file), ": ", info.st_size,
                                            " bytes, expected at least ", extent.offset));
  }
  return info.st_size - extent.offset;
}

absl::Status FileReader::Read(const Extent& extent, absl::Span<std::byte> to) {
  if (extent.bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(const OpenFile* file, Keep(extent));
    if (!file->direct) return ReadAll(file->descriptor, extent, to);
    const absl::Status status =
        direct_.Read(file->descriptor, *file->direct, extent.offset, to, extent.file);
    // EINVAL: the file system wants more than its probe, which may have met a hole, has shown.
    return absl::IsFailedPrecondition(status) ? ReadAfterAll(extent, to) : status;
  }
  PENSTOCK_ASSIGN_OR_RETURN(const int descriptor, Open(extent.file));
  absl::Status status = ReadAll(descriptor, extent, to);
  close(descriptor);
  return status;
}

// Through the page cache, from now on.
absl::Status FileReader::ReadAfterAll(const Extent& extent, absl::Span<std::byte> to) {
  const FileAccess access = kept_.back().access;
  close(kept_.back().descriptor);
  kept_.pop_back();
  PENSTOCK_ASSIGN_OR_RETURN(const int descriptor, Open(extent.file));
  kept_.push_back({extent.file, access, descriptor, std::nullopt});
  return ReadAll(descriptor, extent, to);
}

absl::StatusOr<int> FileReader::Open(const std::string& path) {
  // O_NONBLOCK: a named pipe is an error, not a wait for its writer; it changes nothing for files.
  const auto open_once = [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); };
  int descriptor = open_once();
  if (descriptor < 0 && errno == EMFILE && !kept_.empty()) {
    CloseAll();
    descriptor = open_once();
  }
  if (descriptor < 0) return FileError(errno, path);
  return descriptor;
}

absl::StatusOr<const FileReader::OpenFile*> FileReader::Keep(const Extent& extent) {
  auto found = std::find_if(kept_.begin(), kept_.end(), [&](const OpenFile& file) {
    return file.path == extent.file && file.access == extent.access;
  });
  if (found != kept_.end()) {
    std::rotate(found, found + 1, kept_.end());
    return &kept_.back();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const int descriptor, Open(extent.file));
  OpenFile file = {extent.file, extent.access, descriptor, std::nullopt};
  const bool past = extent.access == FileAccess::kAuto ? OutgrowsPageCache(descriptor)
                                                       : extent.access == FileAccess::kDirect;
  if (past) GoDirect(file);
  if (kept_.size() == kKeptOpen) {
    close(kept_.front().descriptor);
    kept_.erase(kept_.begin());
  }
  kept_.push_back(std::move(file));
  return &kept_.back();
}

// Leaves the file as it is where its file system has no direct reads.
void FileReader::GoDirect(OpenFile& file) {
  const int direct = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
  if (direct < 0) return;
  file.direct = ProbeDirect(direct);
  close(file.direct ? std::exchange(file.descriptor, direct) : direct);
}

void FileReader::CloseAll() {
  for (const OpenFile& file : kept_) close(file.descriptor);
  kept_.clear();
}

}  // namespace penstock
