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

std::vector<int64_t> Order(int64_t size, uint64_t seed, uint64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<int64_t> order(size);
  for (int64_t i = 0; i < size; ++i) order[i] = permutation(i);
  return order;
}

bool HasEachOnce(std::vector<int64_t> order) {
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

TEST(Permutation, HasEachOnce) {
  for (int64_t size = 1; size <= 300; ++size) {
    EXPECT_TRUE(HasEachOnce(Order(size, 5, static_cast<uint64_t>(size)))) << size;
  }
  EXPECT_TRUE(HasEachOnce(Order(1000000, 1, 2)));
}

TEST(Permutation, DiffersByEpochAndSeed) {
  const auto base = Order(1000, 1, 1);
  EXPECT_EQ(Order(1000, 1, 1), base);
  for (const auto& other : {Order(1000, 1, 2), Order(1000, 2, 1), Order(1000, 1, (1ULL << 32) + 1),
                            Order(1000, (1ULL << 32) + 1, 1)}) {
    int64_t same = 0;
    for (size_t i = 0; i < 1000; ++i) same += other[i] == base[i];
    EXPECT_LT(same, 12);  // 1 is what chance gives.
  }
}

TEST(Permutation, PutsEachSampleEverywhere) {
  constexpr int kSize = 10, kEpochs = 10000;
  int count[kSize][kSize] = {};
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(kSize, 3, epoch);
    for (int i = 0; i < kSize; ++i) ++count[i][permutation(i)];
  }
  for (const auto& row : count) {
    for (int n : row) EXPECT_NEAR(n, 1000, 150);  // Five standard deviations.
  }
}

// From testdata/permutation_v1.py. If one of these fails, kOrderVersion needs a new number and the
// old order has to stay: saved runs name it.
TEST(Permutation, VersionOneNeverChanges) {
  EXPECT_EQ(kOrderVersion, 1);
  EXPECT_THAT(Order(1, 0, 0), ElementsAre(0));
  EXPECT_THAT(Order(2, 0, 0), ElementsAre(0, 1));
  EXPECT_THAT(Order(10, 0, 0), ElementsAre(0, 9, 2, 6, 5, 8, 3, 7, 4, 1));
  EXPECT_THAT(Order(10, 0, 1), ElementsAre(6, 5, 9, 3, 7, 0, 1, 2, 8, 4));
  EXPECT_THAT(Order(10, 1ULL << 40, 0), ElementsAre(7, 3, 1, 0, 8, 9, 4, 6, 5, 2));
  const auto order = Order(50000, 7, 3);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 8),
              ElementsAre(17763, 41599, 43120, 49860, 15390, 25234, 1367, 9202));
  uint64_t hash = 0xCBF29CE484222325;
  for (int64_t id : order) hash = (hash ^ static_cast<uint64_t>(id)) * 0x100000001B3;
  EXPECT_EQ(hash, 0x478EFF28E020C84D);
  const auto sparse = [](int64_t size) {
    const Permutation permutation(size, 7, 1ULL << 33);
    return std::vector<int64_t>{permutation(0), permutation(1), permutation(size / 2),
                                permutation(size - 1)};
  };
  EXPECT_THAT(sparse(1281167), ElementsAre(448503, 145216, 666942, 383255));
  EXPECT_THAT(sparse(1000000000000),
              ElementsAre(64653553499, 99578085544, 33086008163, 43144108820));
  EXPECT_THAT(sparse(int64_t{1} << 62), ElementsAre(2797744053206530000, 3189734265828216778,
                                                    4023034691799927986, 827741930180952047));
}

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
