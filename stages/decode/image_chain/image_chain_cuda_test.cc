// The CUDA forms of image chains against the host stages, byte for byte. Skips itself where there
// is no CUDA device.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/stages/decode/image_chain/testing/chain_runner.h"
#include "penstock/stages/decode/image_chain/testing/image_chains.h"

namespace penstock {
namespace {

class ImageChainCuda : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create(0);
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *std::move(device);
  }

  void Check(const ChainCase& c) {
    SCOPED_TRACE(ToString(c.stages));
    auto runner = ChainRunner::Create(c);
    ASSERT_TRUE(runner.ok()) << runner.status();
    const auto want = runner->RunHost();
    ASSERT_TRUE(want.ok()) << want.status();
    const auto got = runner->RunForm(*device_);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->status, want->status);
    const auto [a, b] = std::mismatch(want->bytes.begin(), want->bytes.end(), got->bytes.begin());
    EXPECT_TRUE(a == want->bytes.end())
        << "byte " << a - want->bytes.begin() << " is " << +*b << ", expected " << +*a;
  }

  std::shared_ptr<CudaDevice> device_;
};

TEST_F(ImageChainCuda, EqualsTheHostStagesForAllSequences) {
  const std::vector<std::vector<std::byte>> files = SmallFiles(48, 100);
  for (const std::vector<ChainStage>& stages : AllImageChains()) {
    Check({.stages = stages, .files = files, .rows = AllRows(48)});
  }
}

TEST_F(ImageChainCuda, TouchesTheListedRowsAlone) {
  const std::vector<std::vector<std::byte>> files = SmallFiles(20, 60);
  for (const std::vector<int32_t>& rows :
       {std::vector<int32_t>{7}, {19, 0}, {3, 1, 4, 15, 9, 2, 6}}) {
    for (const char* options : {"height: 24 width: 20", "height: 23 width: 21"}) {
      Check({.stages = {{"DecodeImage", ""}, {"RandomResizedCrop", options}, {"Normalize", ""}},
             .files = files,
             .rows = rows});
    }
  }
}

TEST_F(ImageChainCuda, WritesRowsOfAnyAlignmentAndLayout) {
  const std::vector<std::vector<std::byte>> files = SmallFiles(12, 90);
  for (const char* dtype : {"FLOAT32", "FLOAT16", "BFLOAT16"}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      for (const char* size : {"height: 16 width: 24", "height: 9 width: 13"}) {
        for (const size_t shift : {size_t{0}, size_t{4}, size_t{8}}) {
          Check({.stages = {{"DecodeImage", ""},
                            {"RandomResizedCrop", size},
                            {"RandomHorizontalFlip", ""},
                            {"Normalize", absl::StrCat("mean: [0.485, 0.456, 0.406] std: [0.229, "
                                                       "0.224, 0.225] dtype: ",
                                                       dtype, " layout: ", layout)}},
                 .files = files,
                 .rows = AllRows(12),
                 .out_shift = shift});
        }
      }
    }
  }
  for (const size_t shift : {1, 2, 3}) {
    Check({.stages = {{"DecodeImage", ""}, {"Resize", "size { height: 12 width: 20 }"}},
           .files = files,
           .rows = AllRows(12),
           .out_shift = shift});
  }
}

TEST_F(ImageChainCuda, DecodesWholeImagesAndParts) {
  const std::vector<std::vector<std::byte>> files = SmallFiles(60, 120);
  Check({.stages = {{"DecodeImage", ""}}, .files = files, .rows = AllRows(60)});
  for (const size_t shift : {0, 1, 2, 3}) {
    Check({.stages = {{"DecodeImage", ""}},
           .files = files,
           .rows = AllRows(60),
           .parts = RandomParts(files, shift),
           .out_shift = shift});
  }
}

TEST_F(ImageChainCuda, TakesLargeAndLongImages) {
  const std::vector<std::vector<std::byte>> files = LargeFiles();
  const auto rows = AllRows(static_cast<int32_t>(files.size()));
  for (const std::vector<ChainStage>& stages : std::vector<std::vector<ChainStage>>{
           {{"DecodeImage", ""}},
           {{"DecodeImage", ""}, {"Resize", "size { height: 224 width: 224 }"}},
           {{"DecodeImage", ""},
            {"RandomResizedCrop", "height: 224 width: 224"},
            {"RandomHorizontalFlip", ""},
            {"Normalize", "dtype: FLOAT16"}},
           {{"DecodeImage", ""}, {"Resize", "size { height: 30 width: 3001 }"}},
           {{"DecodeImage", ""}, {"Resize", "size { height: 3000 width: 7 }"}}}) {
    Check({.stages = stages, .files = files, .rows = rows});
  }
}

TEST_F(ImageChainCuda, TakesManyImages) {
  Check({.stages = {{"DecodeImage", ""},
                    {"RandomResizedCrop", "height: 32 width: 32"},
                    {"Normalize", "dtype: BFLOAT16"}},
         .files = SmallFiles(1500, 40),
         .rows = AllRows(1500)});
}

// Each third file ends early. Their rows hold anything; all else is as the host makes it.
TEST_F(ImageChainCuda, ReportsDamagedFilesAndSparesTheirNeighbours) {
  ChainCase c = {.stages = {{"DecodeImage", ""},
                            {"Resize", "size { height: 24 width: 20 }"},
                            {"Normalize", "dtype: FLOAT16"}},
                 .files = SmallFiles(30, 90),
                 .rows = AllRows(30)};
  std::vector<int32_t> good, damaged;
  for (int32_t row = 0; row < 30; ++row) (row % 3 == 1 ? damaged : good).push_back(row);
  constexpr size_t kMissing = 30;  // Bytes.
  for (const int32_t row : damaged) c.files[row].resize(c.files[row].size() - kMissing);
  auto runner = ChainRunner::Create(c);
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto want = runner->RunHost(good);
  ASSERT_TRUE(want.ok()) << want.status();
  const auto got = runner->RunForm(*device_);
  ASSERT_TRUE(got.ok()) << got.status();
  for (const int32_t row : good) EXPECT_EQ(got->status[row], 0) << row;
  for (const int32_t row : damaged) {
    EXPECT_FALSE(runner->RunHost({row}).ok()) << row;
    EXPECT_NE(got->status[row], 0) << row;
    const auto [first, bytes] = runner->OutRange(row);
    std::copy_n(got->bytes.begin() + first, bytes, want->bytes.begin() + first);
  }
  EXPECT_TRUE(got->bytes == want->bytes);
}

TEST_F(ImageChainCuda, LeavesPaddedCropsToTheHost) {
  const ChainCase c = {
      .stages = {{"DecodeImage", ""}, {"RandomCrop", "height: 8 width: 8 padding: 2"}},
      .files = SmallFiles(2, 30),
      .rows = AllRows(2)};
  auto runner = ChainRunner::Create(c);
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_EQ(runner->RunForm(*device_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock
