// BatchSequence: which batch comes next, by arithmetic alone.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/stages/order/permutation.h"

namespace penstock {

struct BatchSpec {
  // Epoch times batches an epoch, plus the place in it, of all devices together. Of an unbounded
  // source, counted.
  int64_t sequence = 0;
  int64_t epoch = 0;
  PositionRange positions;           // In the epoch's order; of an unbounded source, of arrival.
  std::optional<Permutation> order;  // None: ids are positions.

  int64_t count() const { return positions.count(); }
  // The ids of rows [begin, begin + out.size()).
  void Ids(int64_t begin, absl::Span<int64_t> out) const;
};

// What comes next in the order of delivery.
struct NextItem {
  enum class Kind : uint8_t { kBatch, kEpochEnd, kRunEnd, kNothingYet } kind = Kind::kNothingYet;
  BatchSpec batch;
};

// Thread-compatible: admission calls it under its lock. Of an unbounded source it hands out full
// batches as samples arrive, and the rest when the source is closed. Of each epoch plan.device gets
// every plan.devices-th batch.
class BatchSequence {
 public:
  // InvalidArgument as EpochLayout; `plan` must outlive it, or be replaced by Rebind.
  static absl::StatusOr<BatchSequence> Create(const ExecutionPlan& plan);

  // The plan has moved to `plan`.
  void Rebind(const ExecutionPlan& plan) { plan_ = &plan; }

  NextItem Next();
  // Goes on at the beginning of `epoch`.
  void StartEpoch(int64_t epoch);

  // Of this device; 0 for an unbounded source.
  int64_t batches_per_epoch() const;
  int64_t samples_per_epoch() const;

 private:
  BatchSequence(const ExecutionPlan& plan, EpochLayout layout);
  NextItem NextOfUnbounded();
  bool IsOurs(int64_t step) const { return step % plan_->devices == plan_->device; }

  const ExecutionPlan* plan_;
  const UnboundedSource* unbounded_ = nullptr;
  EpochLayout layout_;
  std::optional<Permutation> permutation_;  // Of epoch_.
  int64_t epoch_ = 0, step_ = 0, arrived_used_ = 0;
  bool ended_ = false;
};

}  // namespace penstock
