// RowCache: samples that are kept for the whole run, as the source gives them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/device.h"
#include "penstock/scheduler/counters.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/scheduler/io_pool.h"
#include "penstock/stages/read/file_mapping.h"

namespace penstock {

// Holds the samples [0, plan.cache.samples): their rows where the plan says, and their fixed fields
// (labels) on the host. Immutable once filled; thread-safe.
class RowCache {
 public:
  // Reads and keeps the samples: returns when all are there. `plan` must outlive it. Errors: the
  // first bad sample's, with its node and key, and no block behind it is begun any more;
  // ResourceExhausted from the device; Cancelled once `stop` is requested, after at most one block
  // of each I/O thread.
  static absl::StatusOr<std::unique_ptr<RowCache>> Fill(const ExecutionPlan& plan,
                                                        std::shared_ptr<Device> device, IoPool& io,
                                                        RunCounters& counters,
                                                        std::stop_token stop = {});

  bool Has(int64_t id) const { return id < plan_.cache.samples; }
  // Of a kept sample's row: in device memory, or in host memory.
  uint64_t Address(int64_t id) const {
    return rows_ + static_cast<uint64_t>(id) * plan_.cache.pitch;
  }
  // A kept sample's value of plan.fixed[i]; the next sample's follows it.
  const std::byte* Fixed(size_t i, int64_t id) const {
    return fixed_[i].data() + id * plan_.fixed[i].spec.bytes();
  }

 private:
  struct Block {
    int64_t begin = 0, end = 0;  // Ids.
    std::byte* to = nullptr;     // The first one's row.
  };

  RowCache(const ExecutionPlan& plan, std::shared_ptr<Device> device, IoPool& io,
           RunCounters& counters, std::stop_token stop);
  absl::Status MapFile();
  absl::Status FillHost(HostMemory memory);
  absl::Status FillDevice();
  // Reads samples [begin, end) to `to`, on all I/O threads.
  absl::Status Read(int64_t begin, int64_t end, std::byte* to);
  void ReadBlock(const Block& block, FileReader& reader);
  absl::Status ReadStored(const Block& block, FileReader& reader);
  absl::Status ReadSample(int64_t id, std::byte* row, std::vector<std::byte>& bytes,
                          Scratch& scratch, FileReader& reader);
  void Fail(int64_t id, const absl::Status& status);

  const ExecutionPlan& plan_;
  const std::shared_ptr<Device> device_;
  IoPool& io_;
  RunCounters& counters_;
  const std::stop_token stop_;
  FileMapping mapping_;  // Outlives its registration.
  Buffer memory_;
  uint64_t rows_ = 0;
  std::vector<std::vector<std::byte>> fixed_;  // By plan.fixed, then id.
  std::mutex failure_mutex_;
  // The lowest so far; written with the mutex, read without.
  std::atomic<int64_t> failed_id_ = std::numeric_limits<int64_t>::max();
  absl::Status failure_;
};

}  // namespace penstock
