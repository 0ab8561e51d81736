// Reads the arrays that the scripts of testdata/ write. For tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace penstock {

struct ReferenceArray {
  std::string dtype;  // numpy's name: "uint8", "int64", "float64", ...
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  template <class T>
  std::vector<T> as() const {
    std::vector<T> items(bytes.size() / sizeof(T));
    std::memcpy(items.data(), bytes.data(), bytes.size());
    return items;
  }
};

// By name. A file that is missing or an array that is not there ends the test.
class References {
 public:
  // `file`: within this folder, as built.
  explicit References(const std::string& file);
  const ReferenceArray& at(const std::string& name) const;
  bool has(const std::string& name) const { return arrays_.contains(name); }

 private:
  std::map<std::string, ReferenceArray> arrays_;
};

}  // namespace penstock
