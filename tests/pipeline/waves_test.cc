// A batch whose scratch memory an arena does not hold runs in waves of rows; a row that none holds
// is decoded on the host.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kImages = 8;  // Batches of 4.
// An image takes 16 lines of 64 bytes of scratch, and 8 x 9 pixels lie between decoder and crop:
// 216 bytes, in steps of 16. The scratch of a wave begins at a multiple of 256.
constexpr size_t kScratchARow = 16 * 64, kBetweenARow = 224;
constexpr size_t Needed(size_t rows) {
  return (rows * kBetweenARow + 255) / 256 * 256 + rows * kScratchARow;
}

class WavesTest : public ::testing::Test {
 protected:
  WavesTest() : root_(NewTestFolder("waves")), registry_(MakeTestRegistry()) {
    for (int i = 0; i < kImages; ++i) Write(i, 16);
    options_.registry = &registry_;
    options_.epochs = 1;
    DecodeFakeSim::log = &log_;
  }
  ~WavesTest() override { DecodeFakeSim::log = nullptr; }

  void Write(int i, int height) const {
    WriteFile(absl::StrCat(root_, "/", i, ".fake"), EncodeFake({kFakeGood, height, 16, i}));
  }
  std::string Text(const std::string& device) const {
    return FakeGraphText({.root = root_,
                          .count = kImages,
                          .shuffle = "NONE",
                          .decode = absl::StrCat("device: ", device, " scratch_a_line: 64"),
                          .behind = ""});
  }
  // With an arena of that size besides what a call takes; the bytes must be the host plan's.
  RunResult Run(size_t arena_bytes) {
    RunResult run = RunPlan(Text("DEVICE"), options_,
                            [&](ExecutionPlan& plan) { plan.arena_bytes = arena_bytes; });
    EXPECT_TRUE(run.status.ok()) << run.status;
    const RunResult host = RunGraph(Text("HOST"), options_);
    EXPECT_EQ(run.Bytes("image").size(), size_t{kImages} * 8 * 9 * 3);
    EXPECT_EQ(run.Bytes("image"), host.Bytes("image"));
    return run;
  }

  std::string root_;
  Registry registry_;
  PipelineOptions options_;
  FakeDecoderLog log_;
};

TEST_F(WavesTest, ABatchThatFitsIsOneWave) {
  EXPECT_EQ(Run(Needed(4)).statistics.images_decoded_device, kImages);
  EXPECT_THAT(log_.rows_by_call(), ElementsAre(4, 4));
}

TEST_F(WavesTest, OneByteLessMakesTwo) {
  EXPECT_EQ(Run(Needed(4) - 1).statistics.images_decoded_device, kImages);
  EXPECT_THAT(log_.rows_by_call(), ElementsAre(3, 1, 3, 1));
}

TEST_F(WavesTest, HalfABatchMakesTwoOfOneSize) {
  Run(Needed(2));
  EXPECT_THAT(log_.rows_by_call(), ElementsAre(2, 2, 2, 2));
}

TEST_F(WavesTest, OneRowAWave) {
  EXPECT_EQ(Run(Needed(1)).statistics.images_decoded_device, kImages);
  EXPECT_THAT(log_.rows_by_call(), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

TEST_F(WavesTest, RowsThatNoArenaHoldsAreDecodedOnTheHost) {
  const RunResult run = Run(Needed(1) - 1);
  EXPECT_EQ(run.statistics.images_decoded_device, 0);
  EXPECT_EQ(run.statistics.images_decoded_host, kImages);
  EXPECT_THAT(log_.rows_by_call(), IsEmpty());
}

TEST_F(WavesTest, ARowThatIsTooLargeHoldsNobodyBack) {
  Write(1, 100);
  Write(6, 78);
  const RunResult run = Run(Needed(4));
  EXPECT_EQ(run.statistics.images_decoded_device, kImages - 2);
  EXPECT_EQ(run.statistics.images_decoded_host, 2);
  EXPECT_THAT(log_.rows_by_call(), ElementsAre(3, 3));
}

// Four streams: the kernels of four batches run at a time, and no copy holds them back.
TEST_F(WavesTest, SeveralBatchesAreOnTheDeviceAtATime) {
  constexpr int kStreams = 4;
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0, most = 0;
  bool in_time = true;
  log_.on_kernel = [&] {
    std::unique_lock lock(mutex);
    most = std::max(most, ++running);
    changed.notify_all();
    in_time = changed.wait_for(lock, std::chrono::seconds(10), [&] { return most >= kStreams; }) &&
              in_time;
    --running;
  };
  options_.epochs = 3;  // Six batches.
  const RunResult run = RunGraph(Text("DEVICE"), options_);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.batches.size(), 6u);
  EXPECT_EQ(most, kStreams);
  EXPECT_TRUE(in_time);
}

}  // namespace
}  // namespace penstock::testing
