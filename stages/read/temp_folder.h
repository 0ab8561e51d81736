// A folder of a test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace penstock {

// Made anew, removed with all that is in it at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "/penstock.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }
  // Makes the folders that the name needs, too. Returns the path.
  std::string Write(const std::string& name, const std::string& content = "content") const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  void MakeFolder(const std::string& name) const {
    std::filesystem::create_directories(path_ / name);
  }
  void Link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::filesystem::create_symlink(target, path_ / name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace penstock
