// Image files in folders, for the programs of this folder.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "penstock/stages/field.h"

namespace penstock {

struct File {
  std::string path, content;
  ImageSize size;
  Region part;

  absl::Span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(content.data()), content.size()};
  }
  std::string name() const { return std::filesystem::path(path).filename(); }
  // Of NUMBER_KIND the kind; of other names what they begin with: an encoder's name.
  std::string kind() const {
    const std::string stem = std::filesystem::path(path).stem();
    const size_t digits = stem.find_first_not_of("0123456789");
    if (digits > 0 && digits != std::string::npos) return stem.substr(digits + 1);
    return stem.substr(0, stem.find_first_of("_0123456789"));
  }
};

// In the order of their names, at most `limit`.
inline std::vector<std::string> FilesBelow(const std::string& folder, size_t limit) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  paths.resize(std::min(paths.size(), limit));
  return paths;
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The same for the same file. Small parts, thin ones and almost all of the image occur.
inline Region RandomPart(const std::string& name, ImageSize size) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(name)));
  const auto draw = [&](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random);
  };
  Region part;
  part.y = draw(0, size.height - 1);
  part.x = draw(0, size.width - 1);
  part.height = draw(1, size.height - part.y);
  part.width = draw(1, size.width - part.x);
  return part;
}

// Calls `work(i)` for i below `count`, on all cores.
template <class Work>
void InParallel(size_t count, Work work) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace penstock
