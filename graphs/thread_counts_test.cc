#include "penstock/graphs/thread_counts.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

CpuBudget Machine() { return {32, "32 CPUs"}; }

TEST(ChooseThreads, AreWhatTheMachineAllows) {
  const ThreadCounts counts = ChooseThreads(0, 0, /*all_kept=*/false, Machine());
  EXPECT_EQ(counts.threads, 32);
  EXPECT_EQ(counts.reason, "32 CPUs");
  EXPECT_EQ(counts.io_threads, 32);
  EXPECT_EQ(ChooseThreads(0, 0, /*all_kept=*/false, {2, "2 CPUs"}).io_threads, 4);
}

TEST(ChooseThreads, AreAsAsked) {
  const ThreadCounts counts = ChooseThreads(9, 0, /*all_kept=*/true, Machine());
  EXPECT_EQ(counts.threads, 9);
  EXPECT_EQ(counts.reason, "as asked");
  EXPECT_EQ(counts.io_threads, 9);
  EXPECT_EQ(ChooseThreads(9, 3, /*all_kept=*/true, Machine()).io_threads, 3);
  EXPECT_EQ(ChooseThreads(2, 0, /*all_kept=*/true, Machine()).io_threads, 4);
}

// Few work on kept samples; all that there are read them before the first batch.
TEST(ChooseThreads, OfKeptSamplesFewWorkAndAllRead) {
  const ThreadCounts counts = ChooseThreads(0, 0, /*all_kept=*/true, Machine());
  EXPECT_EQ(counts.threads, 6);
  EXPECT_EQ(counts.reason, "32 CPUs; all samples are kept, more would be in each other's way");
  EXPECT_EQ(counts.io_threads, 32);
  EXPECT_EQ(ChooseThreads(0, 0, /*all_kept=*/true, {5, "5 CPUs"}).threads, 3);
  EXPECT_EQ(ChooseThreads(0, 0, /*all_kept=*/true, {2, "2 CPUs"}).threads, 1);
  const ThreadCounts one = ChooseThreads(0, 0, /*all_kept=*/true, {1, "1 CPU"});
  EXPECT_EQ(one.threads, 1);
  EXPECT_EQ(one.reason, "1 CPU");
}

}  // namespace
}  // namespace penstock
