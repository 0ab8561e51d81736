// GatherSteps: what is done to a batch whose rows the device takes from where they are kept.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "penstock/memory/device.h"
#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/scheduler/row_cache.h"
#include "penstock/scheduler/slab_tables.h"

namespace penstock {

// Thread-safe for different rows and different batches. Needs a plan with a gather stage.
class GatherSteps {
 public:
  // All must outlive it.
  GatherSteps(Device& device, const ExecutionPlan& plan, const SlabTables& tables,
              const RowCache& cache);

  // Works out addresses and Params of rows [begin, end), whose ids are known, writes their entries,
  // and the fixed fields of those that are kept. Failures go into the work.
  void Fill(BatchWork& work, int begin, int end) const;
  // Puts one launch for all of `works` into `stream`; at most most_batches().
  absl::Status Enqueue(absl::Span<const BatchWork* const> works, StreamRef stream) const;
  // Several spare the device's thread a launch each. Where one takes long there is nothing to
  // spare, and together they would all end, and be replaced, at the same time.
  size_t most_batches() const { return most_batches_; }

  // Rows a task.
  static constexpr int kChunkRows = 256;

 private:
  // The Params of rows from `begin` on. False: the first one that has an error has failed.
  bool Resolve(BatchWork& work, absl::Span<const int64_t> ids, int begin) const;
  // Of a row that is not kept: that of the copy that goes up with its batch.
  uint64_t AddressInSlab(const BatchWork& work, int row) const;
  void CopyFixed(size_t i, absl::Span<const int64_t> ids, int begin, const Seat& seat) const;

  Device& device_;
  const ExecutionPlan& plan_;
  const SlabTables& tables_;
  const RowCache& cache_;
  const size_t most_batches_;
  const bool in_place_;  // The device reads entries and fixed fields in host memory.
};

}  // namespace penstock
