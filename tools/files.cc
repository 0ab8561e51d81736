#include "penstock/tools/files.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

absl::Status Failed(const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be written"));
}

}  // namespace

absl::Status WriteFile(const std::string& path, std::initializer_list<absl::string_view> parts) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return Failed(path);
  for (const absl::string_view part : parts) {
    if (std::fwrite(part.data(), 1, part.size(), file.get()) != part.size()) return Failed(path);
  }
  // A full disk may show only here.
  if (std::fclose(file.release()) != 0) return Failed(path);
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  const File file(std::fopen(path.c_str(), "ab"));
  if (file == nullptr) return Failed(path);
  if (is_new) std::filesystem::remove(path, ignored);
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat(path, ": the folder cannot be made"));
}

}  // namespace penstock
