// Seats: the one bound on what is in flight. A seat is one credit with its two slabs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/memory/device.h"
#include "penstock/memory/slab.h"

namespace penstock {

// Lent to one batch at a time. Whoever holds a seat may use its memory; nobody else does.
struct Seat {
  int index = 0;
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  // Pageable memory for encoded bytes that go to a host form; grows to the largest batch seen and
  // is kept. Its owner resizes it.
  std::unique_ptr<std::byte[]> staging;
  size_t staging_bytes = 0;
};

// Owns all slabs of one output, allocated once. Thread-safe. Held by shared_ptr, by every batch
// too: a batch may outlive its pipeline, and the last owner waits for pending events before it
// frees.
//
// A seat comes back in two steps: Return() hands it in with the events that still guard it, and
// Collect() makes it free once all of them have passed. Each seat waits only for its own events, so
// a slow consumer holds back nobody else's.
class SeatPool {
 public:
  // Allocates `seats` (at least 1) host slabs (of `memory`) and device slabs. Host slabs are
  // zeroed. Errors: the device's, with the number of the seat.
  static absl::StatusOr<std::shared_ptr<SeatPool>> Create(std::shared_ptr<Device> device,
                                                          const SlabLayout& layout, int seats,
                                                          HostMemory memory);
  ~SeatPool();
  SeatPool(const SeatPool&) = delete;
  SeatPool& operator=(const SeatPool&) = delete;

  // A free seat, or null. The caller gives it back by Return() exactly once, before the pool ends;
  // anything else is fatal.
  Seat* TryAcquire();

  // `busy`: recorded events that must pass before the seat may be used again. Calls the hook of
  // SetOnReturn, without holding a lock of the pool. Does not block by itself.
  void Return(Seat* seat, std::vector<std::shared_ptr<Event>> busy);

  // Frees the returned seats whose events have passed; gives how many are still returning. A device
  // error frees them too (the work will never run) and is returned: the first one of the call.
  absl::StatusOr<int> Collect();

  // `hook` runs at each Return(), maybe on several threads at once; an empty one ends it. Returns
  // only when no earlier hook is running, so it is not called from within one.
  void SetOnReturn(std::function<void()> hook);

  struct Counts {
    int free = 0, held = 0, returning = 0;
    int64_t collected = 0;  // Times that a seat was freed by Collect() so far.
  };
  Counts counts() const;

  const SlabLayout& layout() const { return layout_; }
  int seats() const { return static_cast<int>(seats_.size()); }
  HostMemory memory() const { return memory_; }
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  struct Returning {
    Seat* seat;
    std::vector<std::shared_ptr<Event>> busy;
  };
  SeatPool(std::shared_ptr<Device> device, const SlabLayout& layout, HostMemory memory);
  absl::Status Allocate(int seats);

  const std::shared_ptr<Device> device_;
  const SlabLayout layout_;
  const HostMemory memory_;
  std::vector<Buffer> slabs_;
  std::vector<Seat> seats_;
  mutable std::mutex mutex_;
  std::vector<Seat*> free_;
  std::vector<bool> held_;  // By index.
  std::vector<Returning> returning_;
  int64_t collected_ = 0;
  std::shared_ptr<const std::function<void()>> hook_;  // Shared with the calls that run.
  int hooks_running_ = 0;
  std::condition_variable hook_ended_;
};

}  // namespace penstock
