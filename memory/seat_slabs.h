// The memory of a pool's seats. For seat_pool.cc.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/device.h"
#include "penstock/memory/slab.h"

namespace penstock {

struct SlabOptions {
  SlabLayout layout;
  int seats = 1;  // At least 1.
  HostMemory memory = HostMemory::kPinned;
  // Where page-locking is refused, pageable memory will do.
  bool or_pageable = false;
  // Host slabs lie side by side in allocations of at most this size (of at least one slab), since
  // large ones are touched by many threads and lie on huge pages.
  size_t group_bytes = size_t{1} << 30;
};

struct SeatSlabs {
  std::vector<std::byte*> host, device;  // By seat.
  HostMemory memory = HostMemory::kPinned;
  absl::Status refused;      // Why `memory` is not what was asked for; OK if it is.
  absl::Duration host_time;  // How long the host's took.
  std::vector<Buffer> buffers;
};

// Errors: the device's, with the seats.
absl::StatusOr<SeatSlabs> AllocateSlabs(Device& device, const SlabOptions& options);

}  // namespace penstock
