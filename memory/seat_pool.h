// Seats: the one bound on what is in flight. A seat is one credit with its two slabs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "penstock/memory/device.h"
#include "penstock/memory/fork_guard.h"
#include "penstock/memory/lease_check.h"
#include "penstock/memory/seat.h"
#include "penstock/memory/seat_slabs.h"
#include "penstock/memory/slab.h"

namespace penstock {

struct SeatPoolOptions {
  SlabOptions slabs;
  // Looks for writes into slabs that were given back; see lease_check.h for what that costs.
  bool check_leases = false;
  std::string node;  // The terminal node, for what that finds.
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
  // zeroed. Errors: the device's, with the numbers of the seats.
  static absl::StatusOr<std::shared_ptr<SeatPool>> Create(std::shared_ptr<Device> device,
                                                          const SlabLayout& layout, int seats,
                                                          HostMemory memory);
  static absl::StatusOr<std::shared_ptr<SeatPool>> Create(std::shared_ptr<Device> device,
                                                          SeatPoolOptions options);
  ~SeatPool();
  SeatPool(const SeatPool&) = delete;
  SeatPool& operator=(const SeatPool&) = delete;

  // A free seat, or null. The caller gives it back by Return() exactly once, before the pool ends;
  // anything else is fatal.
  Seat* TryAcquire();

  // `busy`: recorded events that must pass before the seat may be used again. Calls the hook of
  // SetOnReturn, without holding a lock of the pool. Does not block by itself. `lease` says what it
  // was lent for, and is only needed where leases are checked.
  void Return(Seat* seat, std::vector<std::shared_ptr<Event>> busy, Lease lease = {});

  // The same, guarded by all work that is in `stream` now. Seats that come back so behind one
  // stream are free in that order, so that one event answers for several. On an error (the
  // device's) the seat is still the caller's.
  absl::Status ReturnBehind(Seat* seat, StreamRef stream, Lease lease = {});

  // Frees the returned seats whose events have passed; gives how many are still returning. A device
  // error frees them too (the work will never run) and is returned: the first one of the call.
  // Blocks only where leases are checked. `look_at_all` false: gives up at the first seat that is
  // still busy, oldest first, and does not begin before some have gathered; for one who calls
  // often, and looks at all of them before he sleeps.
  absl::StatusOr<int> Collect(bool look_at_all = true);

  // Of a seat that was just acquired: FailedPrecondition if its last user wrote into it after
  // having given it back. OK at once where leases are not checked; else it blocks.
  absl::Status CheckLease(const Seat& seat);
  // In a child of the process that made the pool, where nobody may use it.
  bool forked() const { return fork_guard_.forked(); }
  bool checks_leases() const { return lease_check_ != nullptr; }

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
  // What the slabs are in; where that is not what was asked for, refused() says why.
  HostMemory memory() const { return memory_; }
  const absl::Status& refused() const { return refused_; }
  // How long it took to get the host slabs: to touch and to page-lock them.
  absl::Duration host_time() const { return host_time_; }
  const std::shared_ptr<Device>& device() const { return device_; }

 private:
  struct Returning {
    Seat* seat;
    std::vector<std::shared_ptr<Event>> busy;
    Lease lease;
    // Not 0: its one event is recorded behind those of earlier ones with this number.
    uint64_t stream_id = 0;
  };
  using Iterator = std::deque<Returning>::iterator;
  using Hook = std::shared_ptr<const std::function<void()>>;
  Hook HandIn(Returning returning);  // Gives the hook that is then to be run.
  void Run(const Hook& hook);
  static bool Passed(Returning& returning, absl::Status& first_error);
  static Iterator EndOfPassedRun(const Iterator& begin, const Iterator& end,
                                 absl::Status& first_error);
  SeatPool(std::shared_ptr<Device> device, const SlabLayout& layout, SeatSlabs slabs);
  // Under collect_mutex_.
  std::vector<Returning> TakePassed(bool look_at_all, absl::Status& first_error);

  const ForkGuard fork_guard_;
  const std::shared_ptr<Device> device_;
  const SlabLayout layout_;
  const HostMemory memory_;
  const absl::Status refused_;
  const absl::Duration host_time_;
  const std::vector<Buffer> slabs_;
  std::vector<Seat> seats_;
  std::unique_ptr<LeaseCheck> lease_check_;  // Null: none.
  // Events are asked without mutex_, so that nobody who acquires or returns has to wait for that.
  std::mutex order_mutex_;    // Of events and returns behind one stream. Taken before mutex_.
  std::mutex collect_mutex_;  // Taken before mutex_.
  std::deque<Returning> returning_;
  mutable std::mutex mutex_;
  std::vector<Seat*> free_;
  std::vector<bool> held_;           // By index.
  std::vector<Returning> returned_;  // Since the last Collect().
  int unfree_ = 0;                   // Returned, and not collected.
  int64_t collected_ = 0;
  Hook hook_;  // Shared with the calls that run.
  int hooks_running_ = 0;
  std::condition_variable hook_ended_;
};

}  // namespace penstock
