#include "penstock/stages/order/epoch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock {
absl::StatusOr<EpochLayout> EpochLayout::Create(int64_t samples, int64_t batch, int64_t rank,
                                                int64_t world, Tail tail) {
  if (world < 1) {
    return absl::InvalidArgumentError(absl::StrCat("world is ", world, ", expected at least 1"));
  }
  if (rank < 0 || rank >= world) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank is ", rank, ", expected 0 to ", world - 1, " (world is ", world, ")"));
  }
  EpochLayout layout;
  layout.samples_ = samples;
  layout.batch_ = batch;
  layout.rank_ = rank;
  layout.world_ = world;
  const int64_t step = batch * world;
  if (samples == 0) return layout;
  if (tail == Tail::kDrop) {
    layout.batches_ = samples / step;
    layout.samples_ = layout.batches_ * step;
    if (layout.batches_ == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are ", samples, " samples and tail: DROP needs at least ", step,
                       " (batch_size ", batch, " on ", world, world == 1 ? " rank" : " ranks",
                       "); lower batch_size or use tail: PARTIAL"));
    }
    return layout;
  }
  if (samples < world) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", samples, " samples for ", world,
                                                   " ranks: some would have none"));
  }
  layout.batches_ = (samples + step - 1) / step;
  return layout;
}

PositionRange EpochLayout::Step(int64_t step) const {
  const int64_t full = batch_ * world_;
  const int64_t rest = samples_ - (batches_ - 1) * full;  // Of the last step.
  // Too few for all ranks: the step before gives up what is missing and it can spare.
  const int64_t borrowed = std::clamp<int64_t>(world_ - rest, 0, full - world_);
  PositionRange range = {step * full, std::min(samples_, (step + 1) * full)};
  if (step == batches_ - 2) range.end -= borrowed;
  if (step == batches_ - 1 && step > 0) range.begin -= borrowed;
  return range;
}

PositionRange EpochLayout::Batch(int64_t step) const {
  const PositionRange all = Step(step);
  return {all.begin + all.count() * rank_ / world_, all.begin + all.count() * (rank_ + 1) / world_};
}

int64_t EpochLayout::samples_of_rank() const {
  int64_t total = 0;
  for (int64_t step = std::max<int64_t>(0, batches_ - 2); step < batches_; ++step) {
    total += Batch(step).count();
  }
  return total + std::max<int64_t>(0, batches_ - 2) * batch_;
}

}  // namespace penstock
