#include "penstock/stages/order/epoch.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "penstock/stages/random.h"

namespace penstock {
namespace {

constexpr int kFeistelRounds = 6;

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch)
    : size_(size), seed_(seed), epoch_(epoch) {
  const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(size, 2) - 1));
  half_bits_ = (bits + 1) / 2;
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_, right = value & mask;
  for (uint32_t round = 0; round < kFeistelRounds; ++round) {
    const auto bits =
        Philox4x32({static_cast<uint32_t>(right), static_cast<uint32_t>(epoch_),
                    static_cast<uint32_t>(epoch_ >> 32), round},
                   {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    const uint64_t mixed = left ^ (bits[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t position) const {
  auto value = static_cast<uint64_t>(position);
  do {
    value = Encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

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
  layout.samples_ = samples, layout.batch_ = batch, layout.rank_ = rank, layout.world_ = world;
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
