// The header of a .npy file, numpy's own format:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/memory/dtype.h"

namespace penstock {

// A row-major array of little-endian numbers.
struct NpyArray {
  DLDataType dtype = kUint8;
  std::vector<int64_t> shape;  // Empty: a single number.
  int64_t data_offset = 0;     // Bytes of the header.
};

// Bytes that tell how long the header is. A file that is shorter has none.
inline constexpr size_t kNpyPrefixBytes = 12;
// Longer headers are refused: numpy's has 128 bytes for any array of numbers.
inline constexpr int64_t kMaxNpyHeaderBytes = 65536;
inline constexpr size_t kMaxNpyDimensions = 32;

// Whether `start` begins as a .npy file does.
bool HasNpyMagic(absl::string_view start);

// Bytes of the whole header, from the file's first kNpyPrefixBytes (fewer, if the file has no
// more). DataLoss: no header of version 1.0, 2.0 or 3.0. At least kNpyPrefixBytes.
absl::StatusOr<int64_t> NpyHeaderBytes(absl::string_view start);

// Parses a whole header, as long as NpyHeaderBytes() says. Accepts what numpy writes for arrays of
// uint8 to uint64, int8 to int64 and float16 to float64, and never what numpy refuses. DataLoss: it
// is damaged. FailedPrecondition: column-major order, big-endian numbers, or another type; the
// message says what to do. Messages don't name the file.
absl::StatusOr<NpyArray> ParseNpyHeader(absl::string_view header);

}  // namespace penstock
