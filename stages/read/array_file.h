// An array that lies in a file, row behind row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/memory/dtype.h"

namespace penstock {

// Rows [0, rows) of `row_bytes` each lie without gaps from `offset` on. All of them are there, and
// no product overflows: rows * row_bytes + offset is at most `file_bytes`.
struct ArrayFile {
  DLDataType dtype = kUint8;
  std::vector<int64_t> shape;  // Of one row.
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t offset = 0;  // Bytes.
  int64_t file_bytes = 0;
};

// What a headerless file is said to hold; see Raw in read_array.proto.
struct RawArray {
  DLDataType dtype = kUint8;
  std::vector<int64_t> shape;  // Of one row; each at least 1.
  int64_t offset = 0;
};

// Reads the header of a .npy file, and compares it with the file's size. The message of each error
// names the file and says what to do. DataLoss: damaged or too short; FailedPrecondition: an array
// of another kind than ours.
absl::StatusOr<ArrayFile> OpenNpyFile(const std::string& path);

// As many rows as the file holds. DataLoss: none, or a part of one at the end. FailedPrecondition:
// it is a .npy file, whose header would be taken for numbers. InvalidArgument: a row is larger than
// any file.
absl::StatusOr<ArrayFile> OpenRawFile(const std::string& path, const RawArray& raw);

}  // namespace penstock
