// JPEG files to RGB, by libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/stages/field.h"
#include "penstock/stages/sample_context.h"

namespace penstock {

// From the header alone. Fails for what Decode() refuses by its header.
absl::StatusOr<ImageSize> ReadJpegSize(absl::Span<const std::byte> bytes);

// Thread-compatible. Keeps memory from one file to the next, and nothing else of it.
class JpegDecoder {
 public:
  // Writes the pixels of `region`, which lies within the image, row by row to `pixels`: the bytes
  // that the same part of the whole image has. Colours and damage: see decode_image.proto.
  absl::Status Decode(absl::Span<const std::byte> bytes, const Region& region, uint8_t* pixels);

 private:
  Scratch rows_;
};

}  // namespace penstock
