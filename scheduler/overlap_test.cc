#include "penstock/scheduler/overlap.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

TEST(IntervalsTest, UnionCountsSharedTimeOnce) {
  EXPECT_EQ(UnionLength({}), 0);
  EXPECT_EQ(UnionLength({{3, 5}, {0, 2}}), 4);
  EXPECT_EQ(UnionLength({{0, 4}, {1, 2}, {3, 6}}), 6);
}

TEST(IntervalsTest, IntersectionOfUnions) {
  EXPECT_EQ(IntersectionLength({{0, 2}}, {{2, 4}}), 0);
  EXPECT_EQ(IntersectionLength({{0, 4}, {6, 10}}, {{2, 7}}), 3);
  EXPECT_EQ(IntersectionLength({{0, 10}}, {{1, 2}, {3, 4}, {1.5, 3.5}}), 3);
}

// Stamps of the simulated device are exact: a copy of [0, 40) ms beside work of [10, 40) ms.
TEST(OverlapLogTest, TakesStampsOfFinishedBatches) {
  auto device = SimDevice::Create();
  auto copies = *device->CreateStream(), compute = *device->CreateStream();
  OverlapLog log;
  auto timing = std::make_shared<BatchTiming>();
  for (auto* event : {&timing->copy_start, &timing->copy_end, &timing->steps_end,
                      &timing->work_start, &timing->work_end}) {
    *event = *device->AcquireTimingEvent();
  }
  const auto ordering = *device->AcquireEvent();
  const auto occupy = [&](const std::unique_ptr<Stream>& stream, int ms) {
    ASSERT_TRUE(device->Occupy(stream->ref(), absl::Milliseconds(ms)).ok());
  };
  ASSERT_TRUE(timing->copy_start->Record(copies->ref()).ok());
  occupy(copies, 10);
  ASSERT_TRUE(ordering->Record(copies->ref()).ok());
  ASSERT_TRUE(ordering->Block(compute->ref()).ok());
  ASSERT_TRUE(timing->work_start->Record(compute->ref()).ok());
  occupy(compute, 30);
  ASSERT_TRUE(timing->work_end->Record(compute->ref()).ok());
  occupy(copies, 30);
  ASSERT_TRUE(timing->copy_end->Record(copies->ref()).ok());
  ASSERT_TRUE(timing->steps_end->Record(copies->ref()).ok());
  ASSERT_TRUE(device->Synchronize(copies->ref()).ok());
  ASSERT_TRUE(device->Synchronize(compute->ref()).ok());

  log.Add(0, timing);
  log.Harvest();  // Still shared with a consumer: not taken.
  EXPECT_EQ(log.totals().copy_s, 0);
  timing.reset();
  log.Harvest();
  const OverlapLog::Totals totals = log.totals();
  // Never shorter than modelled; as exact as the moments at which work was submitted.
  EXPECT_GE(totals.copy_s, 0.040);
  EXPECT_GE(totals.work_s, 0.030);
  EXPECT_NEAR(totals.both_s, totals.work_s, 0.01);
  EXPECT_NEAR(totals.overlap_fraction(), 1.0, 0.3);
}

// Copies of 10 ms with 5 ms between the first two; the third is not timed, so that what lies before
// the fourth is no gap.
TEST(OverlapLogTest, GapsAreThoseOfNeighbours) {
  auto device = SimDevice::Create();
  auto copies = *device->CreateStream();
  OverlapLog log;
  const auto record = [&](std::shared_ptr<TimingEvent>& event) {
    event = *device->AcquireTimingEvent();
    ASSERT_TRUE(event->Record(copies->ref()).ok());
  };
  for (const auto& [number, idle_ms] : {std::pair(0, 0), {1, 5}, {3, 30}}) {
    ASSERT_TRUE(device->Occupy(copies->ref(), absl::Milliseconds(idle_ms)).ok());
    auto timing = std::make_shared<BatchTiming>();
    record(timing->copy_start);
    ASSERT_TRUE(device->Occupy(copies->ref(), absl::Milliseconds(10)).ok());
    record(timing->copy_end);
    log.Add(number, std::move(timing));
  }
  ASSERT_TRUE(device->Synchronize(copies->ref()).ok());
  log.Harvest();
  const OverlapLog::Totals totals = log.totals();
  EXPECT_EQ(totals.batches, 3);
  EXPECT_GE(totals.longest_gap_s, 0.005);
  EXPECT_LT(totals.longest_gap_s, 0.030);
  EXPECT_EQ(totals.gaps_s, totals.longest_gap_s);
  EXPECT_DOUBLE_EQ(totals.copy_utilisation(), totals.copy_s / (totals.copy_s + totals.gaps_s));
}

// One that a consumer keeps for ever must not keep the events of all others from their pool.
TEST(OverlapLogTest, ABatchThatIsKeptHoldsBackNoOther) {
  auto device = SimDevice::Create();
  auto copies = *device->CreateStream();
  OverlapLog log;
  std::vector<std::shared_ptr<BatchTiming>> timings;
  for (int i = 0; i < 3; ++i) {
    auto& timing = timings.emplace_back(std::make_shared<BatchTiming>());
    timing->copy_start = *device->AcquireTimingEvent();
    ASSERT_TRUE(timing->copy_start->Record(copies->ref()).ok());
    timing->copy_end = timing->copy_start;
    log.Add(i, timing);
  }
  ASSERT_TRUE(device->Synchronize(copies->ref()).ok());
  const std::weak_ptr<const BatchTiming> last = timings[2];
  timings.resize(1);
  log.Harvest();
  EXPECT_EQ(log.totals().batches, 2);
  EXPECT_TRUE(last.expired());
  timings.clear();
  log.Harvest();
  EXPECT_EQ(log.totals().batches, 3);
}

}  // namespace
}  // namespace penstock
