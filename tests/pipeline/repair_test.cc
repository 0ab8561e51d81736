// Images that the device finds damaged are decoded on the host, and join their batch before it is
// delivered.
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kImages = 23;  // Batches of 4: the last one has 3.
// Arenas as small as they get: the simulated device fills its memory when it gives it out.
constexpr int64_t kDeviceBytes = 40 << 20;

std::string Normalize() { return std::string(kNormalizeNode); }
// Two device steps: an image lies between them.
std::string CropNormalize() {
  return absl::StrCat(R"pb(
                        node {
                          name: "crop_again"
                          stage {
                            [type.googleapis.com/penstock.testing.CropFake] { height: 5 width: 4 }
                          }
                        }
                      )pb",
                      kNormalizeNode);
}

class RepairTest : public ::testing::Test {
 protected:
  RepairTest() : root_(NewTestFolder("repair")), registry_(MakeTestRegistry()) {
    WriteFakeFolder(root_, kImages);
    options_.registry = &registry_;
    options_.epochs = 2;
    options_.max_device_bytes = kDeviceBytes;
  }
  ~RepairTest() override { DecodeFakeSim::log = nullptr; }

  void Write(int i, FakeKind kind) const {
    FakeImage image = FakeImageNumber(i);
    image.kind = kind;
    WriteFile(absl::StrCat(root_, "/", i, ".fake"), EncodeFake(image));
  }
  std::string Text(const std::string& device, const std::string& behind = Normalize(),
                   const std::string& shuffle = "FULL") const {
    return FakeGraphText({.root = root_,
                          .count = kImages,
                          .shuffle = shuffle,
                          .decode = absl::StrCat("device: ", device, " scratch_a_line: 64"),
                          .behind = behind});
  }
  // On the device, against the host plan: bytes and counts an epoch.
  void ExpectRepaired(int repaired, int on_host, const std::string& behind = Normalize()) {
    const RunResult host = RunGraph(Text("HOST", behind), options_);
    const RunResult device = RunGraph(Text("DEVICE", behind), options_);
    ASSERT_TRUE(host.status.ok()) << host.status;
    ASSERT_TRUE(device.status.ok()) << device.status;
    ASSERT_FALSE(host.Bytes("image").empty());
    EXPECT_EQ(device.Bytes("image"), host.Bytes("image"));
    EXPECT_EQ(device.Bytes("label"), host.Bytes("label"));
    EXPECT_EQ(device.statistics.images_repaired, options_.epochs * repaired);
    EXPECT_EQ(device.statistics.images_decoded_host, options_.epochs * on_host);
    EXPECT_EQ(device.statistics.images_decoded_device, options_.epochs * (kImages - on_host));
    EXPECT_EQ(host.statistics.images_repaired, 0);
    EXPECT_EQ(device.statistics.driver_allocations_after_warmup, 0);
  }

  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

// Images 3, 10 and 17 are refused by the device's decoder beforehand.
TEST_F(RepairTest, OneDamagedRowAtEveryPlace) {
  for (int i = 0; i < kImages; ++i) {
    if (i % 7 == 3) continue;
    Write(i, kFakeDamaged);
    ExpectRepaired(1, 4);
    Write(i, kFakeGood);
  }
}

TEST_F(RepairTest, AllRowsOfAllBatches) {
  for (int i = 0; i < kImages; ++i) Write(i, kFakeDamaged);
  for (const int threads : {1, 4}) {
    options_.threads = options_.io_threads = threads;
    ExpectRepaired(kImages, kImages);
  }
}

TEST_F(RepairTest, EachWayBehindUpload) {
  for (const int i : {0, 1, 5, 6, 22}) Write(i, kFakeDamaged);
  ExpectRepaired(5, 8, "");
  ExpectRepaired(5, 8, Normalize());
  ExpectRepaired(5, 8, CropNormalize());
}

// Rows of different waves had the same place between two steps; together they need their own.
TEST_F(RepairTest, RowsOfDifferentWaves) {
  for (int i = 0; i < kImages; ++i) Write(i, kFakeDamaged);
  const RunResult host = RunGraph(Text("HOST", CropNormalize()), options_);
  const RunResult device = RunPlan(Text("DEVICE", CropNormalize()), options_,
                                   [](ExecutionPlan& plan) { plan.arena_bytes = 2560; });
  ASSERT_TRUE(device.status.ok()) << device.status;
  EXPECT_EQ(device.statistics.images_repaired, options_.epochs * kImages);
  EXPECT_EQ(device.Bytes("image"), host.Bytes("image"));
}

TEST_F(RepairTest, LeasesAreKept) {
  for (const int i : {2, 7, 8}) Write(i, kFakeDamaged);
  options_.check_leases = true;
  ExpectRepaired(3, 6);
}

TEST_F(RepairTest, WhatTheHostCannotDecodeEitherIsTheSamplesError) {
  Write(9, kFakeBroken);
  Write(21, kFakeBroken);
  Write(4, kFakeDamaged);
  const RunResult host = RunGraph(Text("HOST", Normalize(), "NONE"), options_);
  EXPECT_EQ(host.status,
            absl::DataLossError("node 'decode_fake', batch 2, sample '9.fake': broken"));
  for (const int threads : {1, 4}) {
    options_.threads = threads;
    const RunResult device = RunGraph(Text("DEVICE", Normalize(), "NONE"), options_);
    EXPECT_EQ(device.status, host.status);
    EXPECT_EQ(device.batches.size(), 2u);
    EXPECT_EQ(device.Bytes("image"), host.Bytes("image"));
  }
}

// Of the last batch, image 20 is settled and 21 is none: nothing of it gets to the device.
TEST_F(RepairTest, OfABatchThatFailsOnlyWhatWasDoneIsCounted) {
  WriteFile(root_ + "/21.fake", "X");
  options_.epochs = 1;
  const auto host_line = [](const RunResult& run) { return run.statistics.stages[1]; };
  const RunResult device = RunGraph(Text("DEVICE", Normalize(), "NONE"), options_);
  EXPECT_EQ(device.status.code(), absl::StatusCode::kDataLoss);
  ASSERT_EQ(device.batches.size(), 5u);
  EXPECT_EQ(device.statistics.images_decoded_device, 20 - 3);
  EXPECT_EQ(device.statistics.images_decoded_host, 3);
  EXPECT_EQ(host_line(device).place, "host");
  EXPECT_EQ(host_line(device).items, 20 + 1);
  // Two images a task, in any order.
  const RunResult host = RunGraph(Text("HOST", Normalize(), "NONE"), options_);
  EXPECT_EQ(host.status, device.status);
  EXPECT_GE(host.statistics.images_decoded_host, 20);
  EXPECT_LE(host.statistics.images_decoded_host, 22);
  EXPECT_EQ(host_line(host).items, host.statistics.images_decoded_host);
}

// The consumer sees no batch before the device has reported; others go on meanwhile.
TEST_F(RepairTest, CancelWhileTheDeviceHasNotReported) {
  FakeDecoderLog log;
  std::promise<void> go;
  const std::shared_future<void> may_go = go.get_future().share();
  log.on_kernel = [may_go] { may_go.wait(); };
  DecodeFakeSim::log = &log;
  options_.devices = {HostDevice()};
  const auto graph = ParseGraph(Text("DEVICE"), "test.textproto", {}, registry_);
  ASSERT_TRUE(graph.ok());
  auto pipeline = Pipeline::Create(*graph, options_);
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded((*pipeline)->Next(absl::Milliseconds(50)).status()));
  EXPECT_EQ((*pipeline)->Stats().images_decoded_device, 0);
  (*pipeline)->Cancel();
  EXPECT_TRUE(absl::IsCancelled((*pipeline)->Next(absl::Seconds(30)).status()));
  std::thread late([&go] { go.set_value(); });
  pipeline->reset();
  late.join();
}

TEST_F(RepairTest, CancelAtAnyTime) {
  for (int i = 0; i < kImages; ++i) Write(i, i % 2 == 0 ? kFakeDamaged : kFakeGood);
  options_.epochs = kForever;
  options_.devices = {HostDevice()};
  const auto graph = ParseGraph(Text("DEVICE"), "test.textproto", {}, registry_);
  ASSERT_TRUE(graph.ok());
  for (int batches = 0; batches < 40; ++batches) {
    auto pipeline = Pipeline::Create(*graph, options_);
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    for (int i = 0; i < batches; ++i) {
      ASSERT_TRUE((*pipeline)->Next(absl::Seconds(30)).ok());
    }
  }
}

TEST_F(RepairTest, AFailedDeviceEndsTheRun) {
  FakeDecoderLog log;
  auto device = HostDevice();
  log.on_kernel = [device] { device->Fail(absl::InternalError("the device is gone")); };
  DecodeFakeSim::log = &log;
  options_.devices = {device};
  const RunResult run = RunGraph(Text("DEVICE"), options_);
  EXPECT_EQ(run.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(run.status.message()), HasSubstr("the device is gone"));
  EXPECT_TRUE(run.batches.empty());
}

}  // namespace
}  // namespace penstock::testing
