// FolderWalk: finds the image files below a folder, in a fixed order, without a system call a file.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/stages/read/image_list.h"

namespace penstock {

// What was not taken, and one example of each kind by its path below the root.
struct LeftOut {
  struct Kind {
    int64_t count = 0;
    std::string example;
  };
  Kind hidden, other, links, dangling, loops;

  // "2 hidden (first: 'a/.DS_Store'), 1 dangling link (first: 'b/x.jpg')"; "" if nothing was left
  // out.
  std::string ToString() const;
};

// Thread-compatible. Entries of a folder come in byte order, files and sub-folders mixed, each
// sub-folder with all that is below it.
class FolderWalk {
 public:
  struct Options {
    std::vector<std::string> extensions;  // In lower case, with their dots.
    bool follow_symlinks = true;
    int64_t limit =
        std::numeric_limits<int64_t>::max();  // The walk ends when the list has this many.
  };
  // What one folder holds, in byte order.
  struct Entry {
    std::string name;
    bool is_folder = false;
    bool is_link = false;
  };

  FolderWalk(std::string root, Options options, ImageList& list)
      : root_(std::move(root)), options_(std::move(options)), list_(list) {}

  // The root's own entries; nothing is added to the list.
  absl::StatusOr<std::vector<Entry>> ListRoot();
  // Adds all images below `folder`, a path below the root ("": the root itself). Fails where a
  // folder cannot be listed.
  absl::Status Walk(const std::string& folder, int32_t label);

  bool full() const { return list_.size() >= options_.limit; }
  const LeftOut& left_out() const { return left_out_; }

 private:
  using FileId = std::pair<dev_t, ino_t>;

  absl::StatusOr<std::vector<Entry>> List(const std::string& folder);
  void AddEntry(int folder_descriptor, const std::string& folder, absl::string_view name,
                unsigned char type, std::vector<Entry>& entries);
  absl::Status WalkInto(const std::string& folder, int32_t label);
  bool FirstLinkTo(const std::string& folder);
  bool IsImage(absl::string_view name) const;

  const std::string root_;
  const Options options_;
  ImageList& list_;
  LeftOut left_out_;
  std::vector<FileId> enclosing_;  // Folders from the root to the one being walked.
  std::set<FileId> followed_;      // Folders that a link led to, during one Walk().
};

}  // namespace penstock
