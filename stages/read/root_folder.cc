#include "penstock/stages/read/root_folder.h"

#include <dirent.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "penstock/stages/read/file_reader.h"

namespace penstock {

absl::Status CheckRoot(const std::string& root) {
  constexpr absl::string_view kHint =
      "the graph's `root`, filled by --data where it is \"${data}\"";
  if (root.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root is not set, expected the path of a folder: ", kHint));
  }
  if (DIR* folder = opendir(root.c_str()); folder != nullptr) {
    closedir(folder);
    return absl::OkStatus();
  }
  const absl::Status reason = FileError(errno, root);
  return absl::Status(reason.code(), absl::StrCat(reason.message(), " (", kHint, ")"));
}

void Fingerprint::Add(absl::string_view name) {
  for (const char c : name) AddByte(static_cast<uint8_t>(c));
  AddByte(0);
}

}  // namespace penstock
