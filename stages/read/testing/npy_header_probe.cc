// Says what the headers on stdin are, one line each: "DTYPE OFFSET EXTENT..." or "-".
//
// A header comes as four bytes of length, little-endian, and the bytes of a file's beginning. For
// npy_header_mutation_test.py.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/stages/read/npy_header.h"

namespace penstock {
namespace {

std::string Verdict(absl::string_view start) {
  const auto bytes = NpyHeaderBytes(start.substr(0, kNpyPrefixBytes));
  if (!bytes.ok()) return "-";
  const auto array = ParseNpyHeader(start.substr(0, static_cast<size_t>(*bytes)));
  if (!array.ok()) return "-";
  return absl::StrCat(Name(array->dtype), " ", array->data_offset, " ",
                      absl::StrJoin(array->shape, " "));
}

void Main() {
  const std::string input(std::istreambuf_iterator<char>(std::cin), {});
  for (size_t at = 0; at + 4 <= input.size();) {
    size_t bytes = 0;
    for (size_t i = 4; i-- > 0;) bytes = 256 * bytes + static_cast<uint8_t>(input[at + i]);
    std::puts(Verdict(absl::string_view(input).substr(at + 4, bytes)).c_str());
    at += 4 + bytes;
  }
}

}  // namespace
}  // namespace penstock

int main() { penstock::Main(); }
