#include "penstock/scheduler/io_shares.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

using Cpus = std::vector<int>;
using Devices = std::vector<size_t>;

const Cpus kLow = {0, 1, 2, 3}, kHigh = {4, 5, 6, 7}, kAll = {0, 1, 2, 3, 4, 5, 6, 7};

auto Share(int threads, const Cpus& cpus, const Devices& devices) {
  return AllOf(Field("threads", &IoShare::threads, threads), Field("cpus", &IoShare::cpus, cpus),
               Field("devices", &IoShare::devices, devices));
}

TEST(ShareIoThreadsTest, DevicesOnOneNodeShareAll) {
  EXPECT_THAT(ShareIoThreads({kAll, kAll, kAll}, kAll, 8), ElementsAre(Share(8, {}, {0, 1, 2})));
  EXPECT_THAT(ShareIoThreads({{}, {}}, kAll, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({kLow, kLow}, kAll, 3), ElementsAre(Share(3, kLow, {0, 1})));
}

TEST(ShareIoThreadsTest, EachNodeHasThreadsOfItsOwn) {
  EXPECT_THAT(ShareIoThreads({kLow, kHigh}, kAll, 8),
              ElementsAre(Share(4, kLow, {0}), Share(4, kHigh, {1})));
  EXPECT_THAT(ShareIoThreads({kHigh, kLow, kHigh}, kAll, 9),
              ElementsAre(Share(6, kHigh, {0, 2}), Share(3, kLow, {1})));
  // One whose place is not known is held to none.
  EXPECT_THAT(ShareIoThreads({kLow, {}}, kAll, 8),
              ElementsAre(Share(4, kLow, {0}), Share(4, {}, {1})));
}

TEST(ShareIoThreadsTest, NoThreadIsLostAndNoShareHasNone) {
  const std::vector<Cpus> near = {kLow, kLow, kLow, kHigh};
  EXPECT_THAT(ShareIoThreads(near, kAll, 8),
              ElementsAre(Share(6, kLow, {0, 1, 2}), Share(2, kHigh, {3})));
  EXPECT_THAT(ShareIoThreads(near, kAll, 5),
              ElementsAre(Share(4, kLow, {0, 1, 2}), Share(1, kHigh, {3})));
  EXPECT_THAT(ShareIoThreads(near, kAll, 2),
              ElementsAre(Share(1, kLow, {0, 1, 2}), Share(1, kHigh, {3})));
  EXPECT_THAT(ShareIoThreads(near, kAll, 1),
              ElementsAre(Share(1, kLow, {0, 1, 2}), Share(1, kHigh, {3})));
}

// Of what a user or a cgroup left.
TEST(ShareIoThreadsTest, OnlyAllowedCpusCount) {
  EXPECT_THAT(ShareIoThreads({kLow, kHigh}, {2, 3, 4}, 2),
              ElementsAre(Share(1, {2, 3}, {0}), Share(1, {4}, {1})));
  // All of them are near device 0, and none is near device 1: nothing is to be chosen.
  EXPECT_THAT(ShareIoThreads({kLow, kHigh}, kLow, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({kLow, kHigh}, {}, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({kLow, kHigh}, {8, 9}, 8), ElementsAre(Share(8, {}, {0, 1})));
}

}  // namespace
}  // namespace penstock
