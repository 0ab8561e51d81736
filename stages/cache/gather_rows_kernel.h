// The kernel that gathers rows as they are. Knows no stage, so that nvcc has little to read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace penstock {

// All memory is the device's, or page-locked on the host.
struct GatherRowsWork {
  struct Entry {
    uint64_t address = 0;
    uint64_t unused = 0;
  };
  struct Batch {
    const Entry* entries = nullptr;
    std::byte* out = nullptr;  // Rows without gaps.
    int32_t first = 0;         // Number of its first row in the launch; ascending.
  };
  struct Range {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    size_t bytes = 0;
  };
  static constexpr int kMaxBatches = 8, kMaxCarries = 16;

  int64_t row_bytes = 0;
  int32_t rows = 0;  // Of all batches.
  int32_t batches = 0;
  Batch batch[kMaxBatches];
  int32_t carries = 0;
  Range carry[kMaxCarries];
};

// Asynchronous, on the current device. Neither allocates nor synchronises. Any alignment will do;
// addresses and sizes that are multiples of 16 are fastest.
cudaError_t LaunchGatherRows(const GatherRowsWork& work, cudaStream_t stream);

}  // namespace penstock
