#include "penstock/stages/read/image_list.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

uint32_t ImageList::AddFolder(std::string path, int32_t label) {
  folders_.push_back({std::move(path), label});
  return static_cast<uint32_t>(folders_.size() - 1);
}

void ImageList::AddFile(uint32_t folder, absl::string_view name) {
  names_.append(name.data(), name.size());
  name_ends_.push_back(names_.size());
  file_folders_.push_back(folder);
}

std::string ImageList::path(int64_t id) const {
  const uint64_t begin = id == 0 ? 0 : name_ends_[id - 1];
  const auto name = absl::string_view(names_).substr(begin, name_ends_[id] - begin);
  const std::string& folder = folders_[file_folders_[id]].path;
  return folder.empty() ? std::string(name) : absl::StrCat(folder, "/", name);
}

}  // namespace penstock
