// LeaseCheck: finds out who writes into a slab after having given it back. A tool for debugging.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/device.h"
#include "penstock/memory/seat.h"
#include "penstock/memory/slab.h"
#include "penstock/memory/stream.h"

namespace penstock {

// What a seat was lent for.
struct Lease {
  int64_t batch = -1;              // Its sequence number; -1: it never became a batch.
  std::vector<StreamRef> streams;  // That waited for it.
};

// A seat that is free holds one byte everywhere, on host and device. A consumer that reads too late
// reads that byte; one that writes too late is reported, when the seat is lent again.
//
// Each round of a seat costs, beside two passes over the host slab, two copies of the device slab
// over the link, and waits for them; so a run takes several times as long. Thread-safe, but a seat
// is worked on by one call at a time.
class LeaseCheck {
 public:
  static constexpr std::byte kPoison{0xdb};

  // `node`: the terminal node of the batches. Errors are the device's.
  static absl::StatusOr<std::unique_ptr<LeaseCheck>> Create(std::shared_ptr<Device> device,
                                                            const SlabLayout& layout, int seats,
                                                            std::string node);

  // The lease has ended, and all work that it covered is done: fills both slabs. Blocks.
  absl::Status Poison(const Seat& seat, Lease lease);
  // FailedPrecondition: somebody wrote into a slab since Poison(). OK for a seat that was never
  // lent. Blocks. The lease is forgotten.
  absl::Status Verify(const Seat& seat);

 private:
  LeaseCheck(std::shared_ptr<Device> device, const SlabLayout& layout, int seats, std::string node);
  absl::Status Blame(const Lease& lease, const char* slab, size_t offset, std::byte found) const;
  absl::StatusOr<std::optional<size_t>> FindOnDevice(const Seat& seat);

  const std::shared_ptr<Device> device_;
  const size_t host_bytes_, device_bytes_;
  const std::string node_;
  std::unique_ptr<Stream> stream_;
  std::mutex mutex_;  // Of what follows, and of the stream.
  Buffer window_;     // Pattern on its way to the device, and what comes back from there.
  std::vector<std::optional<Lease>> ended_;  // By seat.
};

}  // namespace penstock
