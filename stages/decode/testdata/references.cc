#include "penstock/stages/decode/testdata/references.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace penstock {
namespace {

constexpr char kFolder[] = "stages/decode/testdata/references";  // In the runfiles.

}  // namespace

std::vector<uint8_t> Picture::Part(const Region& region) const {
  std::vector<uint8_t> part;
  for (int y = region.y; y < region.y + region.height; ++y) {
    const uint8_t* row = pixels.data() + (static_cast<size_t>(y) * size.width + region.x) * 3;
    part.insert(part.end(), row, row + size_t{3} * region.width);
  }
  return part;
}

std::string ReadReference(const std::string& name) {
  std::ifstream file(std::filesystem::path(kFolder) / name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> DecodableReferences(const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    std::filesystem::path picture = entry.path();
    if (picture.extension() == ending && exists(picture.replace_extension(".ppm"))) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Picture ReadPicture(const std::string& name) {
  const std::string content = ReadReference(std::filesystem::path(name).replace_extension(".ppm"));
  std::istringstream header(content);
  std::string magic;
  Picture picture;
  int most = 0;
  header >> magic >> picture.size.width >> picture.size.height >> most;
  EXPECT_EQ(magic, "P6") << name;
  const size_t bytes = size_t{3} * picture.size.width * picture.size.height;
  EXPECT_EQ(content.size(), static_cast<size_t>(header.tellg()) + 1 + bytes) << name;
  picture.pixels.assign(content.end() - bytes, content.end());
  return picture;
}

absl::Span<const std::byte> AsBytes(const std::string& content) {
  return {reinterpret_cast<const std::byte*>(content.data()), content.size()};
}

}  // namespace penstock
