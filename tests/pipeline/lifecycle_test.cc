// Beginning, ending, leaving early, waiting, and what a consumer may do in between.
#include <dirent.h>

#include <algorithm>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

int Threads() {
  DIR* folder = opendir("/proc/self/task");
  int count = -2;  // "." and "..".
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

class LifecycleTest : public ::testing::Test {
 protected:
  LifecycleTest() : root_(NewTestFolder("life")), registry_(MakeTestRegistry()) {
    options_.registry = &registry_;
    options_.devices = {HostDevice()};
    options_.threads = options_.io_threads = 2;
  }

  std::string Text(int count, int batch, const std::string& more = "") const {
    return absl::StrCat(
        more, "node { stage { [type.googleapis.com/penstock.testing.ReadFake] { root: \"", root_,
        "\" count: ", count, " allow_empty: true } } }",
        "node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { } } }"
        "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } }"
        "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: ",
        batch, " } } } node { stage { [type.googleapis.com/penstock.Upload] { } } }");
  }
  std::unique_ptr<Pipeline> Make(int count, int batch, const std::string& more = "") {
    WriteFakeFolder(root_, count);
    const auto graph = ParseGraph(Text(count, batch, more), "test", {}, registry_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto pipeline = Pipeline::Create(*graph, options_);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    return *std::move(pipeline);
  }

  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

TEST_F(LifecycleTest, AStopBeforehandIsTheEndOfCreate) {
  WriteFakeFolder(root_, 4);
  const auto graph = ParseGraph(Text(4, 2), "test", {}, registry_);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::stop_source stop;
  options_.stop = stop.get_token();
  EXPECT_TRUE(Pipeline::Create(*graph, options_).ok());
  stop.request_stop();
  EXPECT_EQ(Pipeline::Create(*graph, options_).status(),
            absl::CancelledError("the pipeline was stopped"));
}

// It comes when the batches' memory is made, before that of the Cache.
TEST_F(LifecycleTest, AStopEndsTheFillingOfACache) {
  WriteFile(root_ + "/rows.bin", std::string(4000, 'x'));
  const auto graph = ParseGraph(
      absl::StrCat("node { stage { [type.googleapis.com/penstock.ReadArray] { path: \"", root_,
                   "/rows.bin\" raw { shape: 40 } } } }",
                   "node { stage { [type.googleapis.com/penstock.Cache] { bytes: 4000 } } }"
                   "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 8 } } }"
                   "node { stage { [type.googleapis.com/penstock.Upload] { } } }"),
      "test", {});
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::stop_source stop;
  int64_t allocations = 0;
  options_.registry = nullptr;
  options_.stop = stop.get_token();
  options_.devices = {SimDevice::Create({.fail_host_allocation = [&](size_t, int64_t) {
    ++allocations;
    stop.request_stop();
    return absl::OkStatus();
  }})};
  EXPECT_EQ(Pipeline::Create(*graph, options_).status(),
            absl::CancelledError("the pipeline was stopped while it filled a Cache"));
  EXPECT_GT(allocations, 0);
}

// E01: leaving the loop early.
TEST_F(LifecycleTest, TakingThreeOfAHundredBatchesAndLeavingIsQuickAndLeavesNothing) {
  const int threads_before = Threads();
  for (int round = 0; round < 200; ++round) {
    auto pipeline = Make(100, 1, "batches_in_flight: 6 ");
    std::vector<DeviceBatch> held;
    for (int i = 0; i < 3; ++i) {
      auto batch = pipeline->Next();
      ASSERT_TRUE(batch.ok() && *batch);
      (*batch)->WaitOn(StreamRef::LegacyDefault());
      if (round % 2 == 0) held.push_back(*std::move(*batch));  // Others go at once.
    }
    const absl::Time start = absl::Now();
    pipeline.reset();
    EXPECT_LT(absl::Now() - start, absl::Seconds(1));
    held.clear();  // Batches outlive their pipeline.
  }
  options_.devices.clear();  // The last owner of the streams' threads.
  EXPECT_LE(Threads(), threads_before + 2) << "oneTBB keeps its own workers, and nobody else";
}

// E10: fewer batches than seats.
TEST_F(LifecycleTest, OneBatchOrNoneWithADepthOfSix) {
  auto one = Make(1, 4, "batches_in_flight: 6 ");
  auto batch = one->Next(absl::Seconds(10));
  ASSERT_TRUE(batch.ok() && *batch);
  EXPECT_EQ((*batch)->info().ids, std::vector<int64_t>{0});
  EXPECT_FALSE(one->Next(absl::Seconds(10)).value().has_value());
  EXPECT_FALSE(one->Next(absl::Seconds(10)).value().has_value());  // For ever.
  auto none = Make(0, 4, "batches_in_flight: 6 ");
  EXPECT_FALSE(none->Next(absl::Seconds(10)).value().has_value());
  EXPECT_FALSE(none->Next(absl::Seconds(10)).value().has_value());
}

// E03: an error reaches the consumer, and stays.
TEST_F(LifecycleTest, ErrorIsGivenForEver) {
  WriteFakeFolder(root_, 20);
  WriteFile(root_ + "/7.fake", "Pxxxxxxxx");
  const auto graph = ParseGraph(Text(20, 4), "test", {}, registry_);
  WriteFile(root_ + "/7.fake", "Pxxxxxxxx");
  auto pipeline = Pipeline::Create(*graph, options_);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  ASSERT_TRUE((*pipeline)->Next(absl::Seconds(1))->has_value());
  const absl::Status first = (*pipeline)->Next(absl::Seconds(1)).status();
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(first.message()),
              HasSubstr("node 'decode_fake', batch 1, sample '7.fake': truncated"));
  EXPECT_EQ((*pipeline)->Next(absl::Seconds(1)).status(), first);
}

TEST_F(LifecycleTest, ConsumerThatHoldsEverySeatIsTold) {
  std::string logged;
  options_.log = [&logged](absl::string_view line) { logged = std::string(line); };
  auto pipeline = Make(40, 2, "batches_in_flight: 3 ");
  std::vector<DeviceBatch> held;
  for (int i = 0; i < 3; ++i) held.push_back(*std::move(*pipeline->Next()));
  const absl::Status status = pipeline->Next(absl::Milliseconds(1500)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the consumer holds all 3 batches"));
  EXPECT_THAT(logged, HasSubstr("the consumer holds all 3 batches"));
  held.erase(held.begin());
  EXPECT_TRUE(pipeline->Next(absl::Seconds(10))->has_value());
}

TEST_F(LifecycleTest, CancelWakesNext) {
  auto pipeline = Make(40, 2, "batches_in_flight: 2 ");
  std::vector<DeviceBatch> held;
  for (int i = 0; i < 2; ++i) held.push_back(*std::move(*pipeline->Next()));
  std::thread waiter(
      [&] { EXPECT_EQ(pipeline->Next().status().code(), absl::StatusCode::kCancelled); });
  pipeline->Cancel();
  waiter.join();
  EXPECT_EQ(pipeline->Next().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(LifecycleTest, StartEpochJumpsAndDiscards) {
  options_.epochs = 5;
  auto pipeline = Make(20, 4, "order { shuffle: FULL } ");
  ASSERT_TRUE(pipeline->Next()->has_value());
  pipeline->StartEpoch(3);
  int64_t batches = 0;
  std::vector<int64_t> ids;
  for (;;) {
    auto batch = pipeline->Next(absl::Seconds(10));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) break;
    EXPECT_EQ((*batch)->info().epoch, 3);
    ids.insert(ids.end(), (*batch)->info().ids.begin(), (*batch)->info().ids.end());
    ++batches;
  }
  EXPECT_EQ(batches, 5);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()) - ids.begin(), 20);
  EXPECT_EQ(pipeline->Next(absl::Seconds(10))->value().info().epoch, 4);
}

TEST_F(LifecycleTest, SeveralCallersShareBatchesAndOneGetsTheEpochsEnd) {
  options_.epochs = 2;
  auto pipeline = Make(60, 2);
  std::atomic<int> batches{0}, ends{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      // After the last epoch every call gives nullopt: 60 batches, 2 ends, then for ever.
      for (;;) {
        auto batch = pipeline->Next(absl::Seconds(10));
        ASSERT_TRUE(batch.ok()) << batch.status();
        if (*batch) {
          ++batches;
        } else if (++ends >= 2) {
          return;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(batches, 60);
}

TEST_F(LifecycleTest, PushedUnlabelledUnboundedSource) {
  auto queue = std::make_shared<PushQueue>();
  registry_ = MakeTestRegistry(queue);
  const std::string text =
      "node { stage { [type.googleapis.com/penstock.testing.ReadPushed] { } } }"
      "node { stage { [type.googleapis.com/penstock.testing.DecodeFake] { } } }"
      "node { stage { [type.googleapis.com/penstock.testing.CropFake] { height: 8 width: 9 } } }"
      "node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 3 } } }"
      "node { stage { [type.googleapis.com/penstock.Upload] { } } }";
  const auto shuffled = Pipeline::Create(
      *ParseGraph("order { shuffle: FULL } " + text, "push", {}, registry_), options_);
  EXPECT_THAT(std::string(shuffled.status().message()), HasSubstr("unbounded"));
  const auto graph = ParseGraph(text, "push", {}, registry_);
  auto pipeline = Pipeline::Create(*graph, options_);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_FALSE((*pipeline)->Info().outputs[0].samples_per_epoch.has_value());
  for (int i = 0; i < 2; ++i) queue->Push(EncodeFake(FakeImageNumber(i)));
  EXPECT_EQ((*pipeline)->Next(absl::Milliseconds(20)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  for (int i = 2; i < 7; ++i) queue->Push(EncodeFake(FakeImageNumber(i)));
  for (int b = 0; b < 2; ++b) {
    auto batch = (*pipeline)->Next(absl::Seconds(10));
    ASSERT_TRUE(batch.ok() && *batch) << batch.status();
    EXPECT_EQ((*batch)->info().ids, (std::vector<int64_t>{3 * b, 3 * b + 1, 3 * b + 2}));
    EXPECT_EQ((*batch)->info().tags[0], absl::StrCat("tag ", 3 * b));
    (*batch)->WaitOn(StreamRef::LegacyDefault());
    EXPECT_EQ((*batch)->tensors().size(), 1u);  // No label.
  }
  (*pipeline)->Finish();
  auto rest = (*pipeline)->Next(absl::Seconds(10));
  ASSERT_TRUE(rest.ok() && *rest) << rest.status();
  EXPECT_EQ((*rest)->info().ids, std::vector<int64_t>{6});
  EXPECT_FALSE((*pipeline)->Next(absl::Seconds(10))->has_value());
  EXPECT_FALSE((*pipeline)->Next(absl::Seconds(10))->has_value());
  EXPECT_EQ(queue->released(), 7);
}

// Copies and the consumer's work overlap: with both equally long, the run takes about as long as
// one.
TEST_F(LifecycleTest, CopiesOverlapTheConsumersWork) {
  SimOptions sim;
  sim.gb_per_s = 0.0002;  // Batches are small here: 864 bytes a sample.
  const auto device = SimDevice::Create(sim);
  options_.devices = {device};
  constexpr int kBatches = 50;
  auto pipeline = Make(2 * kBatches, 2);
  auto compute = device->CreateStream().value();
  const absl::Time start = absl::Now();
  int64_t bytes = 0;
  for (;;) {
    auto batch = pipeline->Next(absl::Seconds(30));
    ASSERT_TRUE(batch.ok()) << batch.status();
    if (!*batch) break;
    (*batch)->WaitOn(compute->ref());
    bytes = (*batch)->tensors()[0].second.bytes();
    ASSERT_TRUE(
        device->Occupy(compute->ref(), absl::Seconds(1.0 * bytes / (sim.gb_per_s * 1e9))).ok());
  }
  ASSERT_TRUE(device->Synchronize(compute->ref()).ok());
  const double one = kBatches * static_cast<double>(bytes) / (sim.gb_per_s * 1e9);
  EXPECT_GE(absl::ToDoubleSeconds(absl::Now() - start), one);
  const RunStatistics statistics = pipeline->Stats();
  EXPECT_GT(statistics.overlap_fraction, 0.5);
  EXPECT_EQ(statistics.batches, kBatches);
}

}  // namespace
}  // namespace penstock::testing
