#include "penstock/stages/order/permutation.h"

#include <algorithm>
#include <cstdint>
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

TEST(Permutation, PutsEachPairEverywhere) {
  constexpr int kSize = 10, kEpochs = 90000;
  int count[kSize][kSize] = {};
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation permutation(kSize, 5, epoch);
    ++count[permutation(0)][permutation(1)];
  }
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      if (i != j) {
        EXPECT_NEAR(count[i][j], 1000, 160);  // Five standard deviations.
      }
    }
  }
}

TEST(Permutation, MapGivesTheSameAsOneByOne) {
  for (const int64_t size : {1, 2, 255, 256, 257, 50000, 65536, 65537, 10000000}) {
    const Permutation permutation(size, 11, 4);
    for (const int64_t first : {int64_t{0}, size / 2, size - 1}) {
      std::vector<int64_t> mapped(std::min<int64_t>(size - first, 1000));
      permutation.Map(first, absl::MakeSpan(mapped));
      for (size_t i = 0; i < mapped.size(); ++i) {
        ASSERT_EQ(mapped[i], permutation(first + static_cast<int64_t>(i))) << size;
      }
    }
  }
  const Permutation huge(int64_t{1} << 40, 11, 4);
  std::vector<int64_t> mapped(3);
  huge.Map(5, absl::MakeSpan(mapped));
  EXPECT_THAT(mapped, ElementsAre(huge(5), huge(6), huge(7)));
}

// From testdata/permutation_v2.py. If one of these fails, kOrderVersion needs a new number and the
// old order has to stay: saved runs name it. (Of version 1 nothing was ever saved.)
TEST(Permutation, VersionTwoNeverChanges) {
  EXPECT_EQ(kOrderVersion, 2);
  EXPECT_THAT(Order(1, 0, 0), ElementsAre(0));
  EXPECT_THAT(Order(2, 0, 0), ElementsAre(1, 0));
  EXPECT_THAT(Order(10, 0, 0), ElementsAre(9, 0, 7, 3, 1, 2, 6, 5, 4, 8));
  EXPECT_THAT(Order(10, 0, 1), ElementsAre(9, 4, 3, 8, 1, 0, 5, 2, 7, 6));
  EXPECT_THAT(Order(10, 1ULL << 40, 0), ElementsAre(2, 6, 0, 1, 9, 3, 7, 8, 5, 4));
  const auto order = Order(50000, 7, 3);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 8),
              ElementsAre(7458, 38334, 40138, 2611, 599, 47321, 33749, 13336));
  uint64_t hash = 0xCBF29CE484222325;
  for (int64_t id : order) hash = (hash ^ static_cast<uint64_t>(id)) * 0x100000001B3;
  EXPECT_EQ(hash, 0xDD4881D6C76284B5);
  const auto sparse = [](int64_t size) {
    const Permutation permutation(size, 7, 1ULL << 33);
    return std::vector<int64_t>{permutation(0), permutation(1), permutation(size / 2),
                                permutation(size - 1)};
  };
  EXPECT_THAT(sparse(1281167), ElementsAre(380370, 973747, 212167, 680308));
  EXPECT_THAT(sparse(1000000000000),
              ElementsAre(516224653205, 922256733283, 280149818497, 542185950211));
  EXPECT_THAT(sparse(int64_t{1} << 62), ElementsAre(2097215695813222199, 1101430687603118155,
                                                    4331657133821372007, 3483948291233960672));
}

}  // namespace
}  // namespace penstock
