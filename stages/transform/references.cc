#include "penstock/stages/transform/references.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "penstock/memory/check.h"

namespace penstock {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  PENSTOCK_CHECK(value != nullptr, "run it as a Bazel test");
  return value;
}

int64_t ItemBytesOf(const std::string& dtype) {
  if (dtype == "uint8") return 1;
  if (dtype == "uint16") return 2;
  return dtype == "uint32" ? 4 : 8;
}

}  // namespace

References::References(const std::string& file) {
  const std::string path = absl::StrCat(Environment("TEST_SRCDIR"), "/",
                                        Environment("TEST_WORKSPACE"), "/stages/transform/", file);
  std::ifstream in(path, std::ios::binary);
  PENSTOCK_CHECK(in.good(), absl::StrCat("cannot open ", path));
  for (std::string line; std::getline(in, line);) {
    std::istringstream header(line);
    std::string name, extent;
    ReferenceArray array;
    header >> name >> array.dtype;
    int64_t bytes = ItemBytesOf(array.dtype);
    header >> std::ws;
    while (std::getline(header, extent, ',')) {
      array.shape.push_back(std::stoll(extent));
      bytes *= array.shape.back();
    }
    array.bytes.resize(bytes);
    in.read(reinterpret_cast<char*>(array.bytes.data()), bytes);
    PENSTOCK_CHECK(in.good(), absl::StrCat(path, " ends within ", name));
    arrays_.emplace(name, std::move(array));
  }
}

const ReferenceArray& References::at(const std::string& name) const {
  const auto found = arrays_.find(name);
  PENSTOCK_CHECK(found != arrays_.end(), absl::StrCat("no reference ", name));
  return found->second;
}

}  // namespace penstock
