#include "penstock/stages/read/folder_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/printable.h"

namespace penstock {
namespace {

std::string Join(const std::string& folder, absl::string_view name) {
  return folder.empty() ? std::string(name) : absl::StrCat(folder, "/", name);
}

// The example is the first in byte order: the system lists a folder in any order.
void Count(LeftOut::Kind& kind, const std::string& folder, absl::string_view name) {
  std::string path = Join(folder, name);
  if (kind.count++ == 0 || path < kind.example) kind.example = std::move(path);
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

std::string LeftOut::ToString() const {
  std::string text;
  const auto append = [&](const Kind& kind, absl::string_view one, absl::string_view many) {
    if (kind.count == 0) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", kind.count, " ", kind.count == 1 ? one : many,
                    " (first: '", Printable(kind.example), "')");
  };
  append(hidden, "hidden", "hidden");
  append(other, "other file", "other files");
  append(links, "link", "links");
  append(dangling, "dangling link", "dangling links");
  append(loops, "link to a folder that is listed already",
         "links to folders that are listed already");
  return text;
}

absl::StatusOr<std::vector<FolderWalk::Entry>> FolderWalk::ListRoot() {
  enclosing_.clear();
  return List("");
}

absl::Status FolderWalk::Walk(const std::string& folder, int32_t label) {
  followed_.clear();
  enclosing_.clear();
  if (!folder.empty()) {  // A link back to the root is a loop, too.
    struct stat info;
    if (stat(root_.c_str(), &info) != 0) return FileError(errno, root_);
    enclosing_.emplace_back(info.st_dev, info.st_ino);
  }
  return WalkInto(folder, label);
}

absl::Status FolderWalk::WalkInto(const std::string& folder, int32_t label) {
  const size_t depth = enclosing_.size();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<Entry> entries, List(folder));
  const uint32_t number = list_.AddFolder(folder, label);
  for (const Entry& entry : entries) {
    if (full()) break;
    if (!entry.is_folder) {
      list_.AddFile(number, entry.name);
      continue;
    }
    const std::string inner = Join(folder, entry.name);
    if (entry.is_link && !FirstLinkTo(inner)) {
      Count(left_out_.loops, folder, entry.name);
    } else {
      PENSTOCK_RETURN_IF_ERROR(WalkInto(inner, label));
    }
  }
  enclosing_.resize(depth);
  return absl::OkStatus();
}

bool FolderWalk::FirstLinkTo(const std::string& folder) {
  struct stat info;
  return stat(absl::StrCat(root_, "/", folder).c_str(), &info) != 0 ||
         followed_.emplace(info.st_dev, info.st_ino).second;
}

// Leaves the folder in enclosing_.
absl::StatusOr<std::vector<FolderWalk::Entry>> FolderWalk::List(const std::string& folder) {
  const std::string path = folder.empty() ? root_ : absl::StrCat(root_, "/", folder);
  const std::unique_ptr<DIR, CloseFolder> open(opendir(path.c_str()));
  struct stat info;
  if (open == nullptr || fstat(dirfd(open.get()), &info) != 0) return FileError(errno, path);
  enclosing_.emplace_back(info.st_dev, info.st_ino);
  std::vector<Entry> entries;
  errno = 0;
  while (const dirent* entry = readdir(open.get())) {
    AddEntry(dirfd(open.get()), folder, entry->d_name, entry->d_type, entries);
    errno = 0;
  }
  if (errno != 0) return FileError(errno, path);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

void FolderWalk::AddEntry(int folder_descriptor, const std::string& folder, absl::string_view name,
                          unsigned char type, std::vector<Entry>& entries) {
  if (name == "." || name == "..") return;
  if (name[0] == '.') return Count(left_out_.hidden, folder, name);
  struct stat info{};
  if (type == DT_UNKNOWN &&
      fstatat(folder_descriptor, name.data(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    type = IFTODT(info.st_mode);
  }
  const bool is_link = type == DT_LNK;
  if (is_link) {
    if (!options_.follow_symlinks) return Count(left_out_.links, folder, name);
    if (fstatat(folder_descriptor, name.data(), &info, 0) != 0) {
      return Count(left_out_.dangling, folder, name);
    }
    type = IFTODT(info.st_mode);
    const FileId target(info.st_dev, info.st_ino);
    if (std::find(enclosing_.begin(), enclosing_.end(), target) != enclosing_.end()) {
      return Count(left_out_.loops, folder, name);
    }
  }
  if (type == DT_DIR || (type == DT_REG && IsImage(name))) {
    entries.push_back({std::string(name), type == DT_DIR, is_link});
  } else {
    Count(left_out_.other, folder, name);
  }
}

bool FolderWalk::IsImage(absl::string_view name) const {
  return std::any_of(options_.extensions.begin(), options_.extensions.end(),
                     [&](const std::string& end) { return absl::EndsWithIgnoreCase(name, end); });
}

}  // namespace penstock
