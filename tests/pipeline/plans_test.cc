// The host plan and the encoded plan give the same bytes, and the bytes that they should.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/stages/order/permutation.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kImages = 23, kHeight = 8, kWidth = 9;

std::string GraphText(const std::string& root, const std::string& decode = "",
                      const std::string& extra = "") {
  return FakeGraphText(
      {.root = root, .count = kImages, .seats = 3, .decode = decode, .before_upload = extra});
}

class PlansTest : public ::testing::Test {
 protected:
  PlansTest() : root_(NewTestFolder("plans")), registry_(MakeTestRegistry()) {
    WriteFakeFolder(root_, kImages);
    options_.registry = &registry_;
    options_.epochs = 3;
  }
  std::string root_;
  Registry registry_;
  PipelineOptions options_;
};

// Of one sample: what decode, crop and normalise must give, without stage, chain or view code.
std::vector<float> Expected(int64_t id, int64_t epoch) {
  const FakeImage image = FakeImageNumber(static_cast<int>(id));
  Random random({7, static_cast<uint64_t>(epoch), static_cast<uint64_t>(id)},
                RandomKey("crop_fake"));
  const int top = random.Uniform(image.height - kHeight + 1);
  const int left = random.Uniform(image.width - kWidth + 1);
  const double mean[] = {0.485, 0.456, 0.406}, std[] = {0.229, 0.224, 0.225};
  std::vector<float> values;
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int pixel = FakePixel(image.label, top + y, left + x, c);
        values.push_back(static_cast<float>((pixel * (1 / 255.0) - mean[c]) / std[c]));
      }
    }
  }
  return values;
}

TEST_F(PlansTest, HostPlanGivesWhatArithmeticSays) {
  const RunResult run = RunGraph(GraphText(root_), options_);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.epoch_ends, 3);
  ASSERT_EQ(run.batches.size(), 18u);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const Permutation order(kImages, 7, epoch);
    int64_t position = 0;
    for (int b = 0; b < 6; ++b) {
      const Got& got = run.batches[epoch * 6 + b];
      EXPECT_EQ(got.info.sequence, epoch * 6 + b);
      EXPECT_EQ(got.info.epoch, epoch);
      ASSERT_EQ(got.info.ids.size(), b < 5 ? 4u : 3u);
      const auto rows = static_cast<int64_t>(got.info.ids.size());
      EXPECT_EQ(got.names, (std::vector<std::string>{"image", "label"}));
      EXPECT_EQ(got.shapes[0], (std::vector<int64_t>{rows, 3, kHeight, kWidth}));
      EXPECT_EQ(got.shapes[1], (std::vector<int64_t>{rows}));
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t id = got.info.ids[row];
        EXPECT_EQ(id, order(position++));
        EXPECT_EQ(got.info.key(row), absl::StrCat(id, ".fake"));
        int64_t label = -1;
        std::memcpy(&label, got.bytes[1].data() + row * 8, 8);
        EXPECT_EQ(label, id);
        const std::vector<float> want = Expected(id, epoch);
        EXPECT_EQ(
            std::memcmp(want.data(), got.bytes[0].data() + row * want.size() * 4, want.size() * 4),
            0)
            << "epoch " << epoch << " id " << id;
      }
    }
  }
}

TEST_F(PlansTest, EncodedPlanGivesTheSameBytes) {
  const RunResult host = RunGraph(GraphText(root_, "device: HOST"), options_);
  ASSERT_TRUE(host.status.ok()) << host.status;
  EXPECT_EQ(host.statistics.images_decoded_host, 69);
  const RunResult device = RunGraph(GraphText(root_, "device: DEVICE"), options_);
  ASSERT_TRUE(device.status.ok()) << device.status;
  EXPECT_EQ(device.Bytes("image"), host.Bytes("image"));
  EXPECT_EQ(device.Bytes("label"), host.Bytes("label"));
  // Images 3, 10 and 17 are refused by the device's decoder, in each epoch.
  EXPECT_EQ(device.statistics.images_decoded_host, 9);
  EXPECT_EQ(device.statistics.images_decoded_device, 60);
}

TEST_F(PlansTest, EveryUploadedByteIsWrittenOnce) {
  for (const char* decode : {"device: HOST", "device: DEVICE"}) {
    const RunResult run = RunGraph(GraphText(root_, decode), options_);
    EXPECT_EQ(run.statistics.driver_allocations_after_warmup, 0) << decode;
    if (std::string(decode) == "device: HOST") {
      EXPECT_EQ(run.statistics.host_writes_per_byte, 1.0);
    }
  }
}

TEST_F(PlansTest, MoreStreamsThanSeatsTakeNothingFromTheDriver) {
  const std::string graph = absl::StrReplaceAll(
      GraphText(root_, "device: DEVICE"),
      {{"batch_size: 4", "batch_size: 1"}, {"Upload] {}", "Upload] { streams: 32 }"}});
  const RunResult run = RunGraph(graph, options_);
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.batches.size(), 69u);
  EXPECT_EQ(run.statistics.driver_allocations_after_warmup, 0);
}

TEST_F(PlansTest, BatchStageWorksOnTheHostAndCountsItsWrites) {
  const std::string add =
      "node { stage { [type.googleapis.com/penstock.testing.AddToBatch] { amount: 3 } } }";
  const RunResult plain = RunGraph(GraphText(root_), options_);
  const RunResult added = RunGraph(GraphText(root_, "", add), options_);
  ASSERT_TRUE(added.status.ok()) << added.status;
  EXPECT_NE(added.Bytes("image"), plain.Bytes("image"));
  EXPECT_GT(added.statistics.host_writes_per_byte, 1.3);
  const RunResult forced = RunGraph(GraphText(root_, "device: DEVICE", add), options_);
  EXPECT_EQ(forced.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(forced.status.message()),
              HasSubstr("device is DEVICE, but 'add_to_batch' works on batches on the host"));
}

TEST_F(PlansTest, ThreadsDepthAndRanksChangeNoByte) {
  const RunResult one = RunGraph(GraphText(root_), options_);
  for (const int threads : {1, 3, 8}) {
    options_.threads = options_.io_threads = threads;
    const RunResult run = RunGraph(GraphText(root_), options_);
    ASSERT_TRUE(run.status.ok()) << run.status;
    EXPECT_EQ(run.Bytes("image"), one.Bytes("image")) << threads << " threads";
  }
  std::vector<int64_t> ids;
  options_.world = 3;
  for (options_.rank = 0; options_.rank < 3; ++options_.rank) {
    const RunResult run = RunGraph(GraphText(root_), options_);
    ASSERT_TRUE(run.status.ok()) << run.status;
    const std::vector<int64_t> mine = run.Ids(1);
    ids.insert(ids.end(), mine.begin(), mine.end());
  }
  std::sort(ids.begin(), ids.end());
  std::vector<int64_t> all(kImages);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(ids, all);
}

TEST_F(PlansTest, FirstErrorInBatchOrderNamesNodeBatchAndSample) {
  WriteFile(root_ + "/5.fake", "X");
  options_.epochs = 1;
  std::string text = absl::StrReplaceAll(GraphText(root_), {{"shuffle: FULL", "shuffle: NONE"}});
  for (const int threads : {1, 4}) {
    options_.threads = threads;
    const RunResult run = RunGraph(text, options_);
    EXPECT_EQ(run.batches.size(), 1u);
    EXPECT_EQ(run.status, absl::DataLossError("node 'read_fake', batch 1, sample '5.fake': "
                                              "truncated header: 1 of 8 bytes"));
  }
}

}  // namespace
}  // namespace penstock::testing
