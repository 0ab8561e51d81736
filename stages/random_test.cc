#include "penstock/stages/random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// The known answers of Random123's own tests (kat_vectors).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(Philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8));
  EXPECT_THAT(Philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
              ElementsAre(0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD));
  EXPECT_THAT(
      Philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
      ElementsAre(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1));
}

TEST(RandomKey, IsFnv1a) {
  EXPECT_EQ(RandomKey(""), 0xCBF29CE484222325);
  EXPECT_EQ(RandomKey("crop"), 0x127667908CAD0137);
}

// From testdata/draws.py: augmentations of saved runs depend on these.
TEST(Random, DrawsNeverChange) {
  Random small({1, 2, 3}, RandomKey("crop"));
  for (uint32_t bits :
       {0xDD251801U, 0x6340209FU, 0x1A900FAFU, 0x5FFBC617U, 0x9D494E4EU, 0xAB14DD5FU}) {
    EXPECT_EQ(small.Bits(), bits);
  }
  Random large({1ULL << 40, 1ULL << 33, 1ULL << 35}, RandomKey("crop"));
  for (uint32_t bits :
       {0x05817D31U, 0xFDA4DBFFU, 0x4789D0BBU, 0xD0FF0C62U, 0x81D9605AU, 0xF9E25B06U}) {
    EXPECT_EQ(large.Bits(), bits);
  }
  Random mixed({1, 2, 3}, RandomKey("crop"));
  for (int32_t n : {8, 3, 1, 3, 6, 6, 5, 0, 1, 7, 8, 3}) EXPECT_EQ(mixed.Uniform(10), n);
  EXPECT_EQ(mixed.Uniform01(), 0x1.dca10fc85d01ep-2);
  EXPECT_EQ(mixed.Uniform(-2, 5), 0x1.0abfc1ecdc2c6p+1);
}

// With 3 x 2^29, a quarter of all products has to be drawn again.
TEST(Random, UniformDrawsAgainWhereNeeded) {
  Random random({1, 2, 3}, RandomKey("crop"));
  for (int32_t n : {1855097855, 832573519, 222824407, 805167883}) {
    EXPECT_EQ(random.Uniform(2147483647), n);
  }
  for (int32_t n : {989560157, 1076351747, 22821299, 297964591, 1341179351, 749672826}) {
    EXPECT_EQ(random.Uniform(3 << 29), n);
  }
}

TEST(Random, UniformIsInRangeAndUnbiased) {
  constexpr int kDraws = 70000;
  Random random({5, 6, 7}, 8);
  std::array<int, 7> count{};
  for (int i = 0; i < kDraws; ++i) {
    const int32_t n = random.Uniform(7);
    ASSERT_GE(n, 0);
    ASSERT_LT(n, 7);
    ++count[n];
  }
  for (int n : count) EXPECT_NEAR(n, kDraws / 7.0, 450);  // Five standard deviations.
  EXPECT_EQ(random.Uniform(1), 0);
  // Multiplying without rejection would draw every third number less: 3/8, 3/8, 1/4.
  std::array<int, 3> thirds{};
  for (int i = 0; i < kDraws; ++i) ++thirds[random.Uniform(3 << 29) % 3];
  for (int n : thirds) EXPECT_NEAR(n, kDraws / 3.0, 630);
}

TEST(Random, Uniform01IsInRangeAndUniform) {
  Random random({}, 0);
  double sum = 0, least = 1, most = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = random.Uniform01();
    sum += u, least = std::min(least, u), most = std::max(most, u);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(least, 1e-4);
  EXPECT_LT(most, 1.0);
  EXPECT_GT(most, 1 - 1e-4);
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

// Any one of the numbers that draws are keyed by, also in its upper half, gives others.
TEST(Random, EveryPartOfTheKeyCounts) {
  std::set<uint32_t> first;
  int streams = 0;
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t v = uint64_t{1} << bit;
    for (Random random :
         {Random({v, 0, 0}, 0), Random({0, v, 0}, 0), Random({0, 0, v}, 0), Random({0, 0, 0}, v)}) {
      first.insert(random.Bits());
      ++streams;
    }
  }
  EXPECT_GE(static_cast<int>(first.size()), streams - 1);  // Two of 256 may agree by chance.
}

TEST(NodeDraws, AreThoseOfEachSample) {
  const NodeDraws draws(5, 1ULL << 40, RandomKey("crop"));
  std::vector<int64_t> ids = {0, 1, 49999, 0xFFFFFFFF, 1LL << 32, 1LL << 60};
  for (int64_t id = 7; ids.size() < 150; id += 12345) ids.push_back(id);
  size_t used = 0;
  draws.ForEach(ids, [&](size_t i, Random& random) {
    EXPECT_EQ(i, used++);
    Random one({5, 1ULL << 40, static_cast<uint64_t>(ids[i])}, RandomKey("crop"));
    for (int k = 0; k < 9; ++k) EXPECT_EQ(random.Bits(), one.Bits()) << ids[i];
    return i != 140;
  });
  EXPECT_EQ(used, 141U);
}

}  // namespace
}  // namespace penstock
