// The files that make_references.py makes, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "penstock/stages/field.h"

namespace penstock {

// What a file decodes to: RGB of 8 bits.
struct Picture {
  ImageSize size;
  std::vector<uint8_t> pixels;

  // The pixels of a part, row by row.
  std::vector<uint8_t> Part(const Region& region) const;
};

// The contents of a file; the test fails if there is no such file.
std::string ReadReference(const std::string& name);
// Names of the files that have a picture beside them, by their ending (".jpg"), sorted.
std::vector<std::string> DecodableReferences(const std::string& ending);
// The picture of "x.jpg" or "x.png".
Picture ReadPicture(const std::string& name);

absl::Span<const std::byte> AsBytes(const std::string& content);

}  // namespace penstock
