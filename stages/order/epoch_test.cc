#include "penstock/stages/order/epoch.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// Checks one division of an epoch; gives the number of samples that it covers.
int64_t CheckLayout(int64_t samples, int64_t batch, int64_t world, Tail tail) {
  int64_t covered = 0;
  std::vector<int64_t> of_rank(world);
  const int64_t steps = EpochLayout::Create(samples, batch, 0, world, tail)->batches();
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t rank = 0; rank < world; ++rank) {
      const auto layout = EpochLayout::Create(samples, batch, rank, world, tail);
      EXPECT_EQ(layout->batches(), steps);
      const PositionRange range = layout->Batch(step);
      // What all ranks have consumed is a prefix of the order.
      EXPECT_EQ(range.begin, covered);
      EXPECT_LE(range.count(), batch);
      EXPECT_TRUE(tail == Tail::kPartial || range.count() == batch);
      EXPECT_TRUE(batch == 1 || range.count() >= 1);
      covered = range.end;
      of_rank[rank] += range.count();
    }
  }
  for (int64_t rank = 0; rank < world; ++rank) {
    EXPECT_EQ(EpochLayout::Create(samples, batch, rank, world, tail)->samples_of_rank(),
              of_rank[rank]);
  }
  return covered;
}

TEST(EpochLayout, EverySampleIsInOneBatchOfOneRank) {
  for (int64_t samples = 0; samples <= 60; ++samples) {
    for (int64_t world = 1; world <= 7; ++world) {
      for (int64_t batch = 1; batch <= 5; ++batch) {
        SCOPED_TRACE(testing::Message() << samples << " samples, batch " << batch << ", " << world);
        const bool enough = samples == 0 || samples >= world;
        ASSERT_EQ(EpochLayout::Create(samples, batch, 0, world, Tail::kPartial).ok(), enough);
        if (enough) {
          EXPECT_EQ(CheckLayout(samples, batch, world, Tail::kPartial), samples);
        }
        const bool full = samples == 0 || samples >= batch * world;
        ASSERT_EQ(EpochLayout::Create(samples, batch, 0, world, Tail::kDrop).ok(), full);
        if (full) {
          const int64_t step = batch * world;
          EXPECT_EQ(CheckLayout(samples, batch, world, Tail::kDrop), samples / step * step);
        }
      }
    }
  }
}

std::vector<std::pair<int64_t, int64_t>> Ranges(int64_t samples, int64_t batch, int64_t world,
                                                int64_t step) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t rank = 0; rank < world; ++rank) {
    const PositionRange range =
        EpochLayout::Create(samples, batch, rank, world, Tail::kPartial)->Batch(step);
    ranges.emplace_back(range.begin, range.end);
  }
  return ranges;
}

TEST(EpochLayout, SharesTheRestEvenly) {
  using Pair = std::pair<int64_t, int64_t>;
  EXPECT_THAT(Ranges(10, 3, 4, 0), ElementsAre(Pair(0, 2), Pair(2, 5), Pair(5, 7), Pair(7, 10)));
  // One sample would be left for four ranks: the step before gives three up.
  EXPECT_THAT(Ranges(13, 3, 4, 0), ElementsAre(Pair(0, 2), Pair(2, 4), Pair(4, 6), Pair(6, 9)));
  EXPECT_THAT(Ranges(13, 3, 4, 1),
              ElementsAre(Pair(9, 10), Pair(10, 11), Pair(11, 12), Pair(12, 13)));
}

TEST(EpochLayout, NamesTheNumbersThatDoNotFit) {
  const auto message = [](int64_t samples, int64_t batch, int64_t rank, int64_t world, Tail tail) {
    return std::string(EpochLayout::Create(samples, batch, rank, world, tail).status().message());
  };
  EXPECT_EQ(
      message(10, 16, 0, 1, Tail::kDrop),
      "there are 10 samples and tail: DROP needs at least 16 (batch_size 16 on 1 rank); lower "
      "batch_size or use tail: PARTIAL");
  EXPECT_EQ(
      message(10, 4, 0, 3, Tail::kDrop),
      "there are 10 samples and tail: DROP needs at least 12 (batch_size 4 on 3 ranks); lower "
      "batch_size or use tail: PARTIAL");
  EXPECT_EQ(message(3, 4, 0, 4, Tail::kPartial),
            "there are 3 samples for 4 ranks: some would have none");
  EXPECT_EQ(message(10, 4, 4, 4, Tail::kPartial), "rank is 4, expected 0 to 3 (world is 4)");
  EXPECT_EQ(message(10, 4, -1, 4, Tail::kPartial), "rank is -1, expected 0 to 3 (world is 4)");
  EXPECT_EQ(message(10, 4, 0, 0, Tail::kPartial), "world is 0, expected at least 1");
}

}  // namespace
}  // namespace penstock
