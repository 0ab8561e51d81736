#include "penstock/scheduler/batch_sequence.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "penstock/memory/status_macros.h"

namespace penstock {

absl::StatusOr<BatchSequence> BatchSequence::Create(const ExecutionPlan& plan) {
  const int64_t samples = plan.source->size().value_or(0);
  PENSTOCK_ASSIGN_OR_RETURN(
      EpochLayout layout,
      EpochLayout::Create(samples, plan.batch_size, plan.rank, plan.world, plan.tail));
  return BatchSequence(plan, layout);
}

BatchSequence::BatchSequence(const ExecutionPlan& plan, EpochLayout layout)
    : plan_(&plan), layout_(layout) {
  if (!plan.source->size()) unbounded_ = static_cast<const UnboundedSource*>(plan.source.get());
  StartEpoch(plan.first_epoch);
}

void BatchSequence::StartEpoch(int64_t epoch) {
  epoch_ = epoch;
  step_ = 0;
  ended_ = false;
  permutation_.reset();
  const int64_t samples = plan_->source->size().value_or(0);
  if (plan_->shuffle && samples > 0) {
    permutation_.emplace(samples, plan_->seed, static_cast<uint64_t>(epoch));
  }
}

NextItem BatchSequence::Next() {
  if (unbounded_ != nullptr) return NextOfUnbounded();
  const bool last = plan_->epochs != kForever && epoch_ >= plan_->first_epoch + plan_->epochs;
  if (ended_ || last) return {NextItem::Kind::kRunEnd, {}};
  if (step_ == layout_.batches()) {
    // Without samples "for ever" would be an endless row of empty epochs.
    const bool empty = layout_.batches() == 0 && plan_->epochs == kForever;
    StartEpoch(epoch_ + 1);
    ended_ = empty;
    return {NextItem::Kind::kEpochEnd, {}};
  }
  const PositionRange range = layout_.Batch(step_++);
  NextItem item = {NextItem::Kind::kBatch, {sequence_++, epoch_, {}}};
  item.batch.ids.resize(range.count());
  std::iota(item.batch.ids.begin(), item.batch.ids.end(), range.begin);
  if (permutation_) {
    for (int64_t& id : item.batch.ids) id = (*permutation_)(id);
  }
  return item;
}

NextItem BatchSequence::NextOfUnbounded() {
  if (ended_) return {NextItem::Kind::kRunEnd, {}};
  // Closed first: what arrived before the close is then seen by arrived().
  const bool closed = unbounded_->closed();
  const int64_t waiting = unbounded_->arrived() - arrived_used_;
  const bool drop_rest = plan_->tail == Tail::kDrop && waiting < plan_->batch_size;
  if (closed && (waiting == 0 || drop_rest)) {
    ended_ = true;
    return {NextItem::Kind::kEpochEnd, {}};
  }
  if (waiting < plan_->batch_size && !closed) return {NextItem::Kind::kNothingYet, {}};
  NextItem item = {NextItem::Kind::kBatch, {sequence_++, epoch_, {}}};
  item.batch.ids.resize(std::min(waiting, plan_->batch_size));
  std::iota(item.batch.ids.begin(), item.batch.ids.end(), arrived_used_);
  arrived_used_ += static_cast<int64_t>(item.batch.ids.size());
  return item;
}

}  // namespace penstock
