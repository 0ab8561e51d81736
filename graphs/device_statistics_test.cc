#include "penstock/graphs/device_statistics.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

RunStatistics Example(const std::string& device, double waited) {
  RunStatistics s;
  s.graph = "train";
  s.device = device;
  s.samples = 800;
  s.batches = 100;
  s.seconds = 10;
  s.samples_per_second = 80;
  s.first_batch_seconds = 0.5;
  s.startup_seconds = 0.25;
  s.next_wait_seconds = waited;
  s.cpu_seconds = 3;
  s.bytes_uploaded = 1000;
  s.bytes_gathered = 300;
  s.host_writes_per_byte = 1;
  s.seats = 4;
  s.epochs = {{.epoch = 0, .batches = 60, .samples = 480, .seconds = 6},
              {.epoch = 1, .batches = 40, .samples = 320, .seconds = 4}};
  s.stages = {{.name = "decode", .place = "host", .busy_s = 4, .p95_us = 5, .utilisation = 0.4},
              {.name = "upload", .place = "copy", .busy_s = 1, .p95_us = 7, .utilisation = 0.1}};
  return s;
}

TEST(SumOverDevices, OfOneIsItselfAndOfNoneEmpty) {
  RunStatistics one = Example("cuda:0", 9);
  one.verdict = "as given";
  const RunStatistics same = SumOverDevices({one});
  EXPECT_EQ(same.verdict, "as given");
  EXPECT_EQ(same.samples, 800);
  EXPECT_EQ(SumOverDevices({}).device, "");
  EXPECT_EQ(SumOverDevices({}).batches, 0);
}

TEST(SumOverDevices, AddsWhatAddsUp) {
  RunStatistics first = Example("cuda:0", 2), second = Example("cuda:1", 3);
  second.seconds = 12;
  second.cpu_seconds = 4;
  second.bytes_uploaded = 3000;
  second.host_writes_per_byte = 2;
  second.epochs.pop_back();
  second.stages[0].p95_us = 6;
  second.stages.push_back({.name = "consumer", .place = "consumer", .busy_s = 8});
  const RunStatistics sum = SumOverDevices({first, second});
  EXPECT_EQ(sum.graph, "train");
  EXPECT_EQ(sum.device, "cuda:0,cuda:1");
  EXPECT_EQ(sum.samples, 1600);
  EXPECT_EQ(sum.batches, 200);
  EXPECT_EQ(sum.samples_per_second, 160);
  EXPECT_EQ(sum.startup_seconds, 0.5);
  EXPECT_EQ(sum.next_wait_seconds, 5);
  EXPECT_EQ(sum.bytes_uploaded, 4000);
  EXPECT_EQ(sum.bytes_gathered, 600);
  EXPECT_EQ(sum.seats, 8);
  // Time passes once for all.
  EXPECT_EQ(sum.seconds, 12);
  EXPECT_EQ(sum.first_batch_seconds, 0.5);
  EXPECT_EQ(sum.cpu_seconds, 4);
  EXPECT_EQ(sum.host_writes_per_byte, 1.75);
  ASSERT_EQ(sum.epochs.size(), 2u);
  EXPECT_EQ(sum.epochs[0].batches, 120);
  EXPECT_EQ(sum.epochs[0].samples, 960);
  EXPECT_EQ(sum.epochs[0].seconds, 6);
  EXPECT_EQ(sum.epochs[1].batches, 40);
  ASSERT_EQ(sum.stages.size(), 3u);
  EXPECT_EQ(sum.stages[0].busy_s, 8);
  EXPECT_EQ(sum.stages[0].p95_us, 6);
  EXPECT_EQ(sum.stages[2].name, "consumer");
}

// Threads that two devices keep busy for 40 % each are busy for 80 %; two links are not.
TEST(SumOverDevices, JudgesAllTogether) {
  const RunStatistics sum = SumOverDevices({Example("cuda:0", 9), Example("cuda:1", 9)});
  EXPECT_DOUBLE_EQ(sum.stages[0].utilisation, 0.8);
  EXPECT_DOUBLE_EQ(sum.stages[1].utilisation, 0.1);
  EXPECT_EQ(sum.limit, Limit::kHost);
  EXPECT_EQ(sum.verdict.find("limited by decode (host): busy 80 %"), 0u) << sum.verdict;
  // Both waited for 8.5 of 9.5 seconds.
  EXPECT_NE(sum.verdict.find("waited 89 %"), std::string::npos) << sum.verdict;
}

}  // namespace
}  // namespace penstock
