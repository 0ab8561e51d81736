// ImageList: the paths of up to millions of files, at some 40 bytes a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Built by one thread; const calls are thread-safe.
class ImageList {
 public:
  // A folder that files are added to: its path below the root ("" for the root), and its files'
  // label. Returns its number.
  uint32_t AddFolder(std::string path, int32_t label);
  void AddFile(uint32_t folder, absl::string_view name);

  int64_t size() const { return static_cast<int64_t>(name_ends_.size()); }
  // Path below the root.
  std::string path(int64_t id) const;
  int32_t label(int64_t id) const { return folders_[file_folders_[id]].label; }

 private:
  struct Folder {
    std::string path;
    int32_t label;
  };

  std::vector<Folder> folders_;
  std::string names_;  // Of all files, one behind the other.
  std::vector<uint64_t> name_ends_;
  std::vector<uint32_t> file_folders_;
};

}  // namespace penstock
