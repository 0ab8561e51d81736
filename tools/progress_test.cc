#include "penstock/tools/progress.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

ProgressPoint Point(int64_t seconds, int64_t batches) {
  ProgressPoint point;
  point.time = absl::UnixEpoch() + absl::Seconds(seconds);
  point.batches = batches;
  point.samples = batches * 100;
  point.bytes = batches * 250'000'000;
  point.seats = 4;
  point.seats_waiting = 3;
  return point;
}

TEST(ProgressTextTest, RatesAreBetweenThePoints) {
  EXPECT_EQ(ProgressText(Point(10, 50), Point(12, 60), 100),
            "epoch 0, batch 60 of 100, 500 samples/s, 1.25 GB/s, 3 of 4 seats waiting, ETA 0:08");
}

TEST(ProgressTextTest, NoEtaWithoutAnEndOrARate) {
  EXPECT_EQ(ProgressText(Point(10, 50), Point(12, 60), std::nullopt),
            "epoch 0, batch 60, 500 samples/s, 1.25 GB/s, 3 of 4 seats waiting");
  EXPECT_EQ(ProgressText(Point(10, 60), Point(12, 60), 100),
            "epoch 0, batch 60 of 100, 0 samples/s, 0.00 GB/s, 3 of 4 seats waiting");
}

TEST(ProgressTextTest, LongRuns) {
  const std::string text = ProgressText(Point(0, 0), Point(2, 1), 10000);
  EXPECT_NE(text.find("ETA 5:33:18"), std::string::npos) << text;
}

TEST(MakePointTest, SumsTheOutputs) {
  RunStatistics first, second;
  first.batches = 3;
  first.seats = 4;
  first.epochs = {{.epoch = 0}, {.epoch = 1}};
  second.batches = 2;
  second.seats = 2;
  const ProgressPoint point = MakePoint({first, second}, absl::UnixEpoch());
  EXPECT_EQ(point.batches, 5);
  EXPECT_EQ(point.seats, 6);
  EXPECT_EQ(point.epoch, 1);
}

}  // namespace
}  // namespace penstock
