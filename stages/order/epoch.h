// The order of an epoch by arithmetic: which samples are in which batch of which rank.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace penstock {

// As a number of epochs: without end.
inline constexpr int64_t kForever = -1;

// What becomes of the samples that fill no batch.
enum class Tail : uint8_t { kPartial, kDrop };

// A half-open range of positions in an epoch's order.
struct PositionRange {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

// How an epoch is cut into batches over `world` ranks. Step t takes the next world x batch
// positions, and each rank a neighbouring part of them; so what all ranks have consumed is always a
// prefix of the order, and a run can go on with another world. In the last step the rest is shared
// evenly, and where it has fewer samples than ranks, the step before gives some up so that each
// rank has at least one (with a batch size of 1 it has none to spare: some ranks then end on a
// batch of 0 rows). All ranks have the same number of batches, and every sample occurs once (kDrop
// leaves the rest out).
class EpochLayout {
 public:
  // InvalidArgument with both numbers: fewer samples than ranks, or with kDrop than one batch a
  // rank; rank outside [0, world). No samples at all make an epoch without batches.
  static absl::StatusOr<EpochLayout> Create(int64_t samples, int64_t batch, int64_t rank,
                                            int64_t world, Tail tail);
  int64_t batches() const { return batches_; }
  int64_t samples_of_rank() const;
  PositionRange Batch(int64_t step) const;  // 0 <= step < batches().

 private:
  PositionRange Step(int64_t step) const;  // Of all ranks together.
  int64_t samples_ = 0, batch_ = 0, rank_ = 0, world_ = 1, batches_ = 0;
};

}  // namespace penstock
