// --dump_npy: writes delivered tensors as .npy files, for tests and for a look at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/memory/batch.h"
#include "penstock/memory/device.h"
#include "penstock/memory/tensor_view.h"

namespace penstock {

// What a .npy file (format 1.0) holds before the items of a row-major array. numpy has no bfloat16:
// its bits are given as "<u2". Unimplemented: numpy has no such type.
absl::StatusOr<std::string> NpyHeader(DLDataType dtype, absl::Span<const int64_t> shape);

// Writes the batches of one output, one file a tensor, and the ids:
//
//   DIR/e0001_b00000042.image.npy
//   DIR/e0001_b00000042.ids.txt     one "id<TAB>key" a line
//
// That is epoch 1, and batch 42 of the whole run, from 0. The folder must exist. Thread-compatible.
class NpyDump {
 public:
  NpyDump(std::shared_ptr<Device> device, std::string folder)
      : device_(std::move(device)), folder_(std::move(folder)) {}

  // Copies the tensors back on `stream`, which must have waited for the batch, and waits for that.
  absl::Status Write(const DeviceBatch& batch, StreamRef stream);

 private:
  absl::Status WriteTensor(const std::string& path, const TensorView& tensor, StreamRef stream);

  const std::shared_ptr<Device> device_;
  const std::string folder_;
  std::vector<std::byte> items_;  // Of one tensor.
};

}  // namespace penstock
