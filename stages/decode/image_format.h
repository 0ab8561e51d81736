// What a file is, by its first bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace penstock {

enum class ImageFormat : uint8_t { kJpeg, kPng };

// Fails for anything else and says what it is instead: "empty file", "content is WebP, expected
// JPEG or PNG", or the first bytes.
absl::StatusOr<ImageFormat> ImageFormatOf(absl::Span<const std::byte> bytes);

}  // namespace penstock
