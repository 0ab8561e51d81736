#include "penstock/scheduler/batch_sequence.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "penstock/memory/status_macros.h"

namespace penstock {

void BatchSpec::Ids(int64_t begin, absl::Span<int64_t> out) const {
  if (order) return order->Map(positions.begin + begin, out);
  std::iota(out.begin(), out.end(), positions.begin + begin);
}

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
  while (step_ < layout_.batches() && !IsOurs(step_)) ++step_;
  if (step_ == layout_.batches()) {
    // Without samples "for ever" would be an endless row of empty epochs.
    const bool empty = layout_.batches() == 0 && plan_->epochs == kForever;
    StartEpoch(epoch_ + 1);
    ended_ = empty;
    return {NextItem::Kind::kEpochEnd, {}};
  }
  NextItem item = {NextItem::Kind::kBatch, {}};
  // By the epoch's number, not by what was delivered: draws of batch stages are keyed by it, and
  // prefetch must not change them when StartEpoch() jumps.
  item.batch.sequence = epoch_ * layout_.batches() + step_;
  item.batch.epoch = epoch_;
  item.batch.positions = layout_.Batch(step_++);
  item.batch.order = permutation_;
  return item;
}

int64_t BatchSequence::batches_per_epoch() const {
  return (layout_.batches() + plan_->devices - 1 - plan_->device) / plan_->devices;
}

int64_t BatchSequence::samples_per_epoch() const {
  if (plan_->devices == 1) return layout_.samples_of_rank();
  int64_t samples = 0;
  for (int64_t step = plan_->device; step < layout_.batches(); step += plan_->devices) {
    samples += layout_.Batch(step).count();
  }
  return samples;
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
  NextItem item = {NextItem::Kind::kBatch, {}};
  item.batch.sequence = step_++;
  item.batch.epoch = epoch_;
  item.batch.positions = {arrived_used_, arrived_used_ + std::min(waiting, plan_->batch_size)};
  arrived_used_ = item.batch.positions.end;
  return item;
}

}  // namespace penstock
