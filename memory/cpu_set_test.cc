#include "penstock/memory/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <thread>
#include <vector>

#include "penstock/memory/testing/thread_cpus.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseCpuList, ReadsTheKernelsLists) {
  EXPECT_THAT(ParseCpuList("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(ParseCpuList("7"), ElementsAre(7));
  EXPECT_THAT(ParseCpuList(""), IsEmpty());
  EXPECT_THAT(ParseCpuList("all"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-x"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-1000000000"), IsEmpty());
  EXPECT_THAT(ParseCpuList("5-"), IsEmpty());
  EXPECT_THAT(ParseCpuList("0-1,5-"), IsEmpty());
  EXPECT_THAT(ParseCpuList("-5"), IsEmpty());
  EXPECT_THAT(ParseCpuList("3-0"), IsEmpty());
  EXPECT_THAT(ParseCpuList("3-3"), ElementsAre(3));
}

TEST(CpuListText, WritesThemAsTheKernelDoes) {
  EXPECT_EQ(CpuListText({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(CpuListText({1, 3, 4, 6}), "1,3-4,6");
  EXPECT_EQ(CpuListText({7}), "7");
  EXPECT_EQ(CpuListText({}), "");
}

TEST(AllowedCpus, AreWhatTheKernelSays) {
  EXPECT_EQ(CpuListText(AllowedCpus()), CpusOfThisThread());
}

// What a user allowed goes before what a device would have.
TEST(CpusToBind, AreTheWantedOnesThatAreAllowed) {
  EXPECT_THAT(CpusToBind({0, 1, 2, 3}, {2, 3, 4, 5}), ElementsAre(2, 3));
  EXPECT_THAT(CpusToBind({9, 4}, {2, 4, 9, 11}), ElementsAre(4, 9));
}

TEST(CpusToBind, AreNoneWhereBindingIsImpossibleOrChangesNothing) {
  EXPECT_THAT(CpusToBind({}, {0, 1}), IsEmpty());
  EXPECT_THAT(CpusToBind({2, 3}, {0, 1}), IsEmpty());
  EXPECT_THAT(CpusToBind({0, 1}, {0, 1}), IsEmpty());
  EXPECT_THAT(CpusToBind({0, 1, 2}, {0, 1}), IsEmpty());
  EXPECT_THAT(CpusToBind({0, 1}, {}), IsEmpty());
}

TEST(BindThread, BindsThatThreadAlone) {
  const std::vector<int> allowed = AllowedCpus();
  const int last = allowed.back();
  std::thread([&] {
    BindThread(pthread_self(), {});
    EXPECT_EQ(CpusOfThisThread(), CpuListText(allowed));
    BindThread(pthread_self(), {last});
    EXPECT_EQ(CpusOfThisThread(), CpuListText({last}));
    BindThread(pthread_self(), {100000});  // Refused: no machine has it.
    EXPECT_EQ(CpusOfThisThread(), CpuListText({last}));
  }).join();
  EXPECT_EQ(CpusOfThisThread(), CpuListText(allowed));
}

}  // namespace
}  // namespace penstock
