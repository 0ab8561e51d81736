// BatchSequence: which batch comes next, by arithmetic alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/scheduler/execution_plan.h"

namespace penstock {

struct BatchSpec {
  int64_t sequence = 0;  // Over the whole run.
  int64_t epoch = 0;
  std::vector<int64_t> ids;
};

// What comes next in the order of delivery.
struct NextItem {
  enum class Kind : uint8_t { kBatch, kEpochEnd, kRunEnd, kNothingYet } kind = Kind::kNothingYet;
  BatchSpec batch;
};

// Thread-compatible: admission calls it under its lock. Of an unbounded source it hands out full
// batches as samples arrive, and the rest when the source is closed.
class BatchSequence {
 public:
  // InvalidArgument as EpochLayout; `plan` must outlive it, or be replaced by Rebind.
  static absl::StatusOr<BatchSequence> Create(const ExecutionPlan& plan);

  // The plan has moved to `plan`.
  void Rebind(const ExecutionPlan& plan) { plan_ = &plan; }

  NextItem Next();
  // Goes on at the beginning of `epoch`.
  void StartEpoch(int64_t epoch);

  int64_t batches_per_epoch() const { return layout_.batches(); }  // 0 for an unbounded source.
  int64_t samples_per_epoch() const { return layout_.samples_of_rank(); }

 private:
  BatchSequence(const ExecutionPlan& plan, EpochLayout layout);
  NextItem NextOfUnbounded();

  const ExecutionPlan* plan_;
  const UnboundedSource* unbounded_ = nullptr;
  EpochLayout layout_;
  std::optional<Permutation> permutation_;  // Of epoch_.
  int64_t sequence_ = 0, epoch_ = 0, step_ = 0, arrived_used_ = 0;
  bool ended_ = false;
};

}  // namespace penstock
