// The kernel that gathers rows as they are. Knows no stage, so that nvcc has little to read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/gather_launch.h"

namespace penstock {

// One row of a batch.
struct GatherRowEntry {
  uint64_t address = 0;
  uint64_t unused = 0;
};

// Asynchronous, on the current device. Neither allocates nor synchronises. Any alignment will do;
// addresses and sizes that are multiples of 16 are fastest.
cudaError_t LaunchGatherRows(const GatherLaunch<GatherRowEntry>& launch, int64_t row_bytes,
                             cudaStream_t stream);

}  // namespace penstock
