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

auto Share(int threads, const Cpus& cpus, const Devices& devices) {
  return AllOf(Field("threads", &IoShare::threads, threads), Field("cpus", &IoShare::cpus, cpus),
               Field("devices", &IoShare::devices, devices));
}

class ShareIoThreadsTest : public ::testing::Test {
 protected:
  const Cpus low_ = {0, 1, 2, 3}, high_ = {4, 5, 6, 7}, all_ = {0, 1, 2, 3, 4, 5, 6, 7};
};

TEST_F(ShareIoThreadsTest, DevicesOnOneNodeShareAll) {
  EXPECT_THAT(ShareIoThreads({all_, all_, all_}, all_, 8), ElementsAre(Share(8, {}, {0, 1, 2})));
  EXPECT_THAT(ShareIoThreads({{}, {}}, all_, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({low_, low_}, all_, 3), ElementsAre(Share(3, low_, {0, 1})));
}

TEST_F(ShareIoThreadsTest, EachNodeHasThreadsOfItsOwn) {
  EXPECT_THAT(ShareIoThreads({low_, high_}, all_, 8),
              ElementsAre(Share(4, low_, {0}), Share(4, high_, {1})));
  EXPECT_THAT(ShareIoThreads({high_, low_, high_}, all_, 9),
              ElementsAre(Share(6, high_, {0, 2}), Share(3, low_, {1})));
  // One whose place is not known is held to none.
  EXPECT_THAT(ShareIoThreads({low_, {}}, all_, 8),
              ElementsAre(Share(4, low_, {0}), Share(4, {}, {1})));
}

TEST_F(ShareIoThreadsTest, NoThreadIsLostAndNoShareHasNone) {
  const std::vector<Cpus> near = {low_, low_, low_, high_};
  EXPECT_THAT(ShareIoThreads(near, all_, 8),
              ElementsAre(Share(6, low_, {0, 1, 2}), Share(2, high_, {3})));
  EXPECT_THAT(ShareIoThreads(near, all_, 5),
              ElementsAre(Share(4, low_, {0, 1, 2}), Share(1, high_, {3})));
  EXPECT_THAT(ShareIoThreads(near, all_, 2),
              ElementsAre(Share(1, low_, {0, 1, 2}), Share(1, high_, {3})));
  EXPECT_THAT(ShareIoThreads(near, all_, 1),
              ElementsAre(Share(1, low_, {0, 1, 2}), Share(1, high_, {3})));
}

// Of what a user or a cgroup left.
TEST_F(ShareIoThreadsTest, OnlyAllowedCpusCount) {
  EXPECT_THAT(ShareIoThreads({low_, high_}, {2, 3, 4}, 2),
              ElementsAre(Share(1, {2, 3}, {0}), Share(1, {4}, {1})));
  // All of them are near device 0, and none is near device 1: nothing is to be chosen.
  EXPECT_THAT(ShareIoThreads({low_, high_}, low_, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({low_, high_}, {}, 8), ElementsAre(Share(8, {}, {0, 1})));
  EXPECT_THAT(ShareIoThreads({low_, high_}, {8, 9}, 8), ElementsAre(Share(8, {}, {0, 1})));
}

}  // namespace
}  // namespace penstock
