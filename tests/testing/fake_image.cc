#include "penstock/tests/testing/fake_image.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace penstock::testing {

std::string EncodeFake(const FakeImage& image) {
  const auto low = [](int v) { return static_cast<char>(v & 255); };
  const auto high = [](int v) { return static_cast<char>(v >> 8); };
  std::string bytes = {'P',
                       low(image.kind),
                       low(image.height),
                       high(image.height),
                       low(image.width),
                       high(image.width),
                       low(image.label),
                       high(image.label)};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        bytes += static_cast<char>(FakePixel(image.label, y, x, c) ^ 0x5A);
      }
    }
  }
  return bytes;
}

FakeImage FakeImageNumber(int i) {
  return {i % 7 == 3 ? kFakeRefused : kFakeGood, 9 + i * 7 % 13, 10 + i * 5 % 17, i};
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteFakeFolder(const std::string& folder, int count) {
  for (int i = 0; i < count; ++i) {
    WriteFile(folder + "/" + std::to_string(i) + ".fake", EncodeFake(FakeImageNumber(i)));
  }
}

std::string NewTestFolder(const std::string& name) {
  static std::atomic<int> count{0};
  const char* base = std::getenv("TEST_TMPDIR");
  const std::string folder =
      std::string(base != nullptr ? base : "/tmp") + "/" + name + std::to_string(count++);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

}  // namespace penstock::testing
