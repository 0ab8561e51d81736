#include "penstock/scheduler/statistics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;

TEST(HistogramTest, QuantilesAreRightWithinAnEighth) {
  Histogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), absl::ZeroDuration());
  for (int i = 1; i <= 1000; ++i) histogram.Add(i * 1000);
  const int64_t median = absl::ToInt64Nanoseconds(histogram.Quantile(0.5));
  EXPECT_GE(median, 500'000);
  EXPECT_LE(median, 500'000 * 9 / 8);
  const int64_t p95 = absl::ToInt64Nanoseconds(histogram.Quantile(0.95));
  EXPECT_GE(p95, 950'000);
  EXPECT_LE(p95, 950'000 * 9 / 8);
}

TEST(HistogramTest, TakesAnyDuration) {
  Histogram histogram;
  for (const int64_t ns :
       {int64_t{-5}, int64_t{0}, int64_t{1}, int64_t{7}, int64_t{8}, int64_t{1} << 62}) {
    histogram.Add(ns);
  }
  EXPECT_GT(histogram.Quantile(1.0), absl::Seconds(60));
  EXPECT_LE(histogram.Quantile(0.0), absl::Nanoseconds(1));
}

RunStatistics Measured() {
  RunStatistics s;
  s.batches = 100;
  s.seconds = 11;
  s.first_batch_seconds = 1;
  s.next_wait_seconds = 7;  // 6 of the 10 seconds after the first batch.
  s.stages = {{"read", "io"}, {"decode+crop", "host"}, {"upload", "copy"}, {"normalize", "device"}};
  return s;
}

TEST(JudgeTest, NamesTheBusiestStepWhenTheConsumerWaits) {
  const char* places[] = {"read", "host", "upload", "device"};
  for (int i = 0; i < 4; ++i) {
    RunStatistics s = Measured();
    s.stages[i].utilisation = 0.97;
    Judge(s);
    EXPECT_STREQ(Name(s.limit), places[i]);
    EXPECT_THAT(s.verdict, HasSubstr("limited by " + s.stages[i].name));
    EXPECT_THAT(s.verdict, HasSubstr("busy 97 %"));
    EXPECT_THAT(s.verdict, HasSubstr("the consumer waited 60 %"));
  }
}

TEST(JudgeTest, ConsumerThatNeverWaitsIsTheLimit) {
  RunStatistics s = Measured();
  s.stages[1].utilisation = 0.99;
  s.next_wait_seconds = 1.5;
  Judge(s);
  EXPECT_EQ(s.limit, Limit::kConsumer);
  EXPECT_THAT(s.verdict, HasSubstr("waited 5 % of the time"));
}

TEST(JudgeTest, NoStepIsBlamedThatIsHardlyBusy) {
  RunStatistics s = Measured();
  s.stages[2].utilisation = 0.21;
  Judge(s);
  EXPECT_EQ(s.limit, Limit::kNone);
  EXPECT_THAT(s.verdict, HasSubstr("upload: 21 %"));
}

// The consumer waits for batches whose seats its own stream holds.
TEST(JudgeTest, ConsumerWhoseStreamIsBusyIsTheLimit) {
  RunStatistics s = Measured();
  s.stages.push_back({"consumer", "consumer"});
  s.stages[4].utilisation = 0.99;
  Judge(s);
  EXPECT_EQ(s.limit, Limit::kConsumer);
  EXPECT_THAT(s.verdict, HasSubstr("its work took 99 % of the time"));
}

TEST(JudgeTest, ShortRunsAreNotJudged) {
  RunStatistics s = Measured();
  s.stages[1].utilisation = 0.99;
  s.batches = 3;
  Judge(s);
  EXPECT_EQ(s.limit, Limit::kNone);
  EXPECT_THAT(s.verdict, HasSubstr("too few"));
}

TEST(JudgeTest, NothingDelivered) {
  RunStatistics s;
  Judge(s);
  EXPECT_EQ(s.limit, Limit::kNone);
}

}  // namespace
}  // namespace penstock
