// A Cache of encoded samples: the same bytes in every place, whole or in part, and less work.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/encoded_cache_fixture.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

class EncodedCacheTest : public EncodedCacheFixture {
 protected:
  // Bytes and labels must be those of a run without a cache.
  RunResult Run(const std::string& cache, const std::string& decode = "device: DEVICE") {
    RunResult plain = RunGraph(Text("", "device: HOST"), options_);
    RunResult run = RunGraph(Text(cache, decode), options_);
    EXPECT_TRUE(run.status.ok()) << run.status;
    EXPECT_FALSE(plain.Bytes("image").empty());
    EXPECT_EQ(run.Bytes("image"), plain.Bytes("image")) << cache;
    EXPECT_EQ(run.Bytes("label"), plain.Bytes("label")) << cache;
    EXPECT_EQ(run.statistics.images_decoded_host + run.statistics.images_decoded_device,
              options_.epochs * kImages);
    ExpectReads(run.statistics);
    return run;
  }
  // What was not found was read, but for repairs.
  void ExpectReads(const RunStatistics& s) const {
    const int64_t misses = options_.epochs * kImages - s.cache_hits;
    EXPECT_GE(s.bytes_read, misses * kFileBytes);
    EXPECT_LE(s.bytes_read, (misses + s.images_repaired) * kFileBytes);
  }
};

// A batch of the next epoch may be asked for before the last ones of the first are kept: those of
// two seats.
constexpr int64_t kMostLate = 2 * kBatch;

TEST_F(EncodedCacheTest, AllOfItInEachPlace) {
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    const RunResult run = Run(absl::StrCat("place: ", place, " bytes: 1000000"));
    EXPECT_LE(run.statistics.cache_hits, (kEpochs - 1) * kImages);
    EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * kImages - kMostLate) << place;
    EXPECT_EQ(run.statistics.images_decoded_device, kEpochs * kImages);
    EXPECT_EQ(run.statistics.driver_allocations_after_warmup, 0);
  }
}

TEST_F(EncodedCacheTest, AHitUploadsNothingOfItself) {
  for (const char* place : {"PINNED", "DEVICE"}) {
    size_t tables = 0;
    const RunResult run = RunPlan(Text(absl::StrCat("place: ", place, " bytes: 1000000")), options_,
                                  [&tables](ExecutionPlan& plan) { tables = plan.layout.tables; });
    ASSERT_TRUE(run.status.ok()) << run.status;
    const int64_t misses = kEpochs * kImages - run.statistics.cache_hits;
    EXPECT_EQ(run.statistics.bytes_uploaded,
              static_cast<int64_t>(tables * run.batches.size()) + misses * kPlaceBytes);
  }
}

TEST_F(EncodedCacheTest, AsMuchAsFits) {
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    for (const int kept : {0, 1, 10, kImages - 1}) {
      const RunResult run =
          Run(absl::StrCat("place: ", place, " bytes: ", kept * kPlaceBytes + kPlaceBytes - 1));
      EXPECT_LE(run.statistics.cache_hits, (kEpochs - 1) * kept);
      EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * kept - kMostLate);
    }
  }
}

TEST_F(EncodedCacheTest, WhatTheDecoderRefusesIsKeptOnTheHostAlone) {
  for (const int i : {0, 5, 6, 20}) Write(i, kFakeRefused);
  for (const char* place : {"HOST", "PINNED"}) {
    const RunResult run = Run(absl::StrCat("place: ", place, " bytes: 1000000"));
    EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * kImages - kMostLate);
    EXPECT_EQ(run.statistics.images_decoded_host, kEpochs * 4);
  }
  const RunResult run = Run("place: DEVICE bytes: 1000000");
  EXPECT_LE(run.statistics.cache_hits, (kEpochs - 1) * (kImages - 4));
  EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * (kImages - 4) - kMostLate);
  EXPECT_EQ(run.statistics.images_decoded_host, kEpochs * 4);
}

TEST_F(EncodedCacheTest, DamagedSamplesAreRepairedInEachEpoch) {
  for (const int i : {1, 2, 13}) Write(i, kFakeDamaged);
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    const RunResult run = Run(absl::StrCat("place: ", place, " bytes: 1000000"));
    EXPECT_EQ(run.statistics.images_repaired, kEpochs * 3);
    EXPECT_EQ(run.statistics.images_decoded_host, kEpochs * 3);
    // In device memory they would be of no use.
    const int64_t kept = std::string(place) == "DEVICE" ? kImages - 3 : kImages;
    EXPECT_LE(run.statistics.cache_hits, (kEpochs - 1) * kept);
    EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * kept - kMostLate);
  }
}

// Crops of 8 lines of 9: every other one meets the damage.
TEST_F(EncodedCacheTest, AHitThatIsFoundDamagedIsReadAgain) {
  for (int i = 0; i < kImages; ++i) Write(i, kFakeDamagedBelow);
  const RunResult without = Run("");
  ASSERT_GT(without.statistics.images_repaired, kImages);
  ASSERT_LT(without.statistics.images_repaired, (kEpochs - 1) * kImages);
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    const RunResult run = Run(absl::StrCat("place: ", place, " bytes: 1000000"));
    EXPECT_EQ(run.statistics.images_repaired, without.statistics.images_repaired) << place;
    EXPECT_GT(run.statistics.cache_hits, 0);
  }
}

TEST_F(EncodedCacheTest, AHitThatCannotBeReadAgainIsAnErrorOfTheSource) {
  for (int i = 0; i < kImages; ++i) Write(i, kFakeDamagedBelow);
  options_.epochs = kForever;
  options_.devices = {HostDevice()};
  const auto graph =
      ParseGraph(Text("place: DEVICE bytes: 1000000"), "test.textproto", {}, registry_);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto pipeline = Pipeline::Create(*graph, options_);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  absl::Status status;
  for (int taken = 0; status.ok(); ++taken) {
    if (taken == 30) std::filesystem::remove_all(root_);
    status = (*pipeline)->Next(absl::Seconds(30)).status();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("node 'read_fake', batch "));
}

// The more lines lie above a crop, the more scratch it takes: some hits exceed the arena, whose
// bytes only the device has.
TEST_F(EncodedCacheTest, AHitThatNoArenaHoldsIsReadAgain) {
  const std::string decode = "device: DEVICE scratch_a_line_above: 4096";
  const RunResult plain = RunGraph(Text("", "device: HOST"), options_);
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    const RunResult run = RunPlan(Text(absl::StrCat("place: ", place, " bytes: 1000000"), decode),
                                  options_, [](ExecutionPlan& plan) { plan.arena_bytes = 2048; });
    ASSERT_TRUE(run.status.ok()) << run.status;
    EXPECT_EQ(run.Bytes("image"), plain.Bytes("image")) << place;
    EXPECT_EQ(run.Bytes("label"), plain.Bytes("label")) << place;
    EXPECT_GT(run.statistics.images_decoded_host, kImages);
    EXPECT_GT(run.statistics.images_decoded_device, kImages);
    EXPECT_EQ(run.statistics.images_decoded_host + run.statistics.images_decoded_device,
              kEpochs * kImages);
    EXPECT_EQ(run.statistics.images_repaired, 0);
    EXPECT_GT(run.statistics.cache_hits, 0);
  }
}

TEST_F(EncodedCacheTest, ThreadsChangeNothing) {
  for (const int i : {3, 8}) Write(i, kFakeDamaged);
  for (const int i : {4, 19}) Write(i, kFakeRefused);
  for (const int threads : {1, 8}) {
    options_.threads = options_.io_threads = threads;
    for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
      Run(absl::StrCat("place: ", place, " bytes: 3000"));
    }
  }
}

TEST_F(EncodedCacheTest, EachDeviceHasItsOwn) {
  options_.devices = {HostDevice(), HostDevice()};
  const auto take = [this](const std::string& text) {
    std::vector<RunResult> runs;
    const auto graph = ParseGraph(text, "test.textproto", {}, registry_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto pipeline = Pipeline::Create(*graph, options_);
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    for (int device = 0; device < 2; ++device) {
      NextOptions next;
      next.device = device;
      next.timeout = absl::Seconds(30);
      runs.push_back(TakeAll(**pipeline, next, kEpochs));
      EXPECT_TRUE(runs.back().status.ok()) << runs.back().status;
    }
    return runs;
  };
  const std::vector<RunResult> plain = take(Text(""));
  for (const char* place : {"HOST", "PINNED", "DEVICE"}) {
    const std::vector<RunResult> kept =
        take(Text(absl::StrCat("place: ", place, " bytes: 1000000")));
    for (int device = 0; device < 2; ++device) {
      EXPECT_EQ(kept[device].Bytes("image"), plain[device].Bytes("image"));
      EXPECT_GT(kept[device].statistics.cache_hits, 0);
    }
  }
}

TEST_F(EncodedCacheTest, CancelAtAnyTime) {
  options_.epochs = kForever;
  options_.devices = {HostDevice()};
  const auto graph =
      ParseGraph(Text("place: DEVICE bytes: 1000000"), "test.textproto", {}, registry_);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (int batches = 0; batches < 20; ++batches) {
    auto pipeline = Pipeline::Create(*graph, options_);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    for (int i = 0; i < batches; ++i) {
      ASSERT_TRUE((*pipeline)->Next(absl::Seconds(30)).ok());
    }
  }
}

// Before stages on the host: ordinary memory, or a refusal that says why.
TEST_F(EncodedCacheTest, BeforeTheHostPlan) {
  const std::string because = "'decode_fake' says HOST";
  for (const char* place : {"HOST", "AUTO"}) {
    const RunResult run = Run(absl::StrCat("place: ", place, " bytes: 1000000"), "device: HOST");
    EXPECT_GE(run.statistics.cache_hits, (kEpochs - 1) * kImages - kMostLate);
    EXPECT_EQ(run.statistics.images_decoded_host, kEpochs * kImages);
  }
  for (const std::string place : {"PINNED", "DEVICE"}) {
    const RunResult run =
        RunGraph(Text(absl::StrCat("place: ", place, " bytes: 1000000"), "device: HOST"), options_);
    EXPECT_EQ(run.status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(run.status.message()),
                HasSubstr(absl::StrCat("'cache': place is ", place,
                                       ", but the stages before Collate run on the host: ", because,
                                       "; use place: AUTO or HOST")));
  }
}

}  // namespace
}  // namespace penstock::testing
