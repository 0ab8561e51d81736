// What the rows of a batch need of their stream's arena: what lies between two device steps, and
// the scratch of the steps.
//
//   what lies between steps, of all rows of a wave | scratch of one step after the other
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "penstock/memory/slab.h"
#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/execution_plan.h"

namespace penstock {

inline constexpr size_t kBetweenAlignment = 16;   // Vector loads of the kernels.
inline constexpr size_t kScratchAlignment = 256;  // Asked by DeviceCall.

// Bytes of a row's image behind `step`; 0 where the image does not lie in the arena.
size_t BetweenBytes(const ExecutionPlan& plan, const DeviceStep& step, const Resolved& resolved);

// Rows of one wave, added up.
class ArenaNeed {
 public:
  // Both must outlive it. `steps`: the plan's `whole` or `behind`.
  ArenaNeed(const ExecutionPlan& plan, const std::vector<DeviceStep>& steps);

  // Adds a row, whose regions and descriptors are settled, if the arena then still holds all of
  // them. Else nothing changes.
  bool TryAdd(const BatchWork& work, int row);
  void Clear();

  // Where the scratch of the steps begins.
  size_t scratch_at() const { return AlignUp(between_, kScratchAlignment); }

 private:
  static constexpr size_t kFewSteps = 4;
  const ExecutionPlan& plan_;
  const std::vector<DeviceStep>& steps_;
  size_t between_ = 0;
  // By step: of all rows so far, and with the next one.
  absl::InlinedVector<size_t, kFewSteps> scratch_, sums_;
};

}  // namespace penstock
