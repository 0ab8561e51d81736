#include "penstock/scheduler/arena.h"

#include <algorithm>

#include "absl/types/span.h"

namespace penstock {
namespace {

RowShape ShapeOf(const DeviceStep& step, const BatchWork& work, int row) {
  RowShape shape;
  if (step.descriptors != kNoTable) {
    shape.descriptor = step.HostDescriptor(*work.seat, row);
  }
  shape.regions = absl::MakeConstSpan(work.rows[row].resolved.region)
                      .subspan(step.begin, step.end - step.begin + 1);
  return shape;
}

}  // namespace

size_t BetweenBytes(const ExecutionPlan& plan, const DeviceStep& step, const Resolved& resolved) {
  if (step.end == plan.chain.cut || step.end == plan.chain.links.size()) return 0;
  const FieldSpec& spec = plan.chain.spec(step.end);
  return AlignUp(resolved.region[step.end].area() * spec.channels() * ItemBytes(spec.dtype),
                 kBetweenAlignment);
}

ArenaNeed::ArenaNeed(const ExecutionPlan& plan, const std::vector<DeviceStep>& steps)
    : plan_(plan), steps_(steps), scratch_(steps.size()), sums_(steps.size()) {}

bool ArenaNeed::TryAdd(const BatchWork& work, int row) {
  size_t between = between_, most = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const DeviceStep& step = steps_[i];
    between += BetweenBytes(plan_, step, work.rows[row].resolved);
    sums_[i] = scratch_[i] + step.stage->row_scratch_bytes(ShapeOf(step, work, row));
    most = std::max(most, sums_[i]);
  }
  // Steps run one after the other: their scratch is the same memory.
  if (AlignUp(between, kScratchAlignment) + most > plan_.arena_bytes) return false;
  between_ = between;
  scratch_.swap(sums_);
  return true;
}

void ArenaNeed::Clear() {
  between_ = 0;
  std::fill(scratch_.begin(), scratch_.end(), 0);
}

}  // namespace penstock
