#include "penstock/stages/decode/decode_image_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "penstock/stages/decode/testdata/references.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

FieldView ViewOf(const std::string& file) {
  FieldView view;
  view.address = reinterpret_cast<uint64_t>(file.data());
  view.bytes = static_cast<int64_t>(file.size());
  return view;
}

// The stage as the planner and the scheduler use it.
class DecodeImageStageTest : public ::testing::Test {
 protected:
  static std::unique_ptr<SampleStage> New() {
    return Registry::Default().Find("penstock.DecodeImage")->sample();
  }
  absl::Status Init(const DecodeImage& options = {}) {
    stage_ = New();
    state_ = stage_->MakeWorkerState();
    if (absl::Status status = stage_->Init(options); !status.ok()) return status;
    spec_.fields = {FieldSpec::Encoded("image")};
    return stage_->Infer(spec_);
  }
  absl::Status Probe(const std::string& file) { return stage_->Probe(ViewOf(file), size_); }
  absl::Status Process(const std::string& file, const Region& region) {
    pixels_.assign(region.area() * 3, 0xCD);
    FieldView out;
    out.address = reinterpret_cast<uint64_t>(pixels_.data());
    out.bytes = static_cast<int64_t>(pixels_.size());
    out.region = region;
    SampleContext context(state_.get(), &scratch_);
    return stage_->Process(nullptr, ViewOf(file), out, context);
  }

  std::unique_ptr<SampleStage> stage_;
  std::unique_ptr<WorkerState> state_;
  SampleSpec spec_;
  ImageSize size_;
  std::vector<uint8_t> pixels_;
  Scratch scratch_;
};

TEST_F(DecodeImageStageTest, TurnsEncodedIntoAnImageOfAnySize) {
  ASSERT_TRUE(Init().ok());
  EXPECT_EQ(spec_.fields[0].ToString(), "uint8 [?, ?, 3]");
  EXPECT_EQ(stage_->params_bytes(), 0u);
  EXPECT_FALSE(stage_->is_random());
  const absl::Status twice = stage_->Infer(spec_);
  EXPECT_THAT(std::string(twice.message()),
              HasSubstr("'image' is uint8 [?, ?, 3], expected the bytes"));
}

TEST_F(DecodeImageStageTest, DecodesByContentNotByName) {
  ASSERT_TRUE(Init().ok());
  for (const char* name : {"s_2x2_61x45.jpg", "pillow.png"}) {
    const std::string file = ReadReference(name);
    const Picture expected = ReadPicture(name);
    ASSERT_TRUE(Probe(file).ok());
    EXPECT_EQ(size_, expected.size);
    ASSERT_TRUE(Process(file, Region::Whole(size_)).ok());
    EXPECT_TRUE(pixels_ == expected.pixels) << name;
    ASSERT_TRUE(Process(file, {11, 7, 30, 40}).ok());
    EXPECT_TRUE(pixels_ == expected.Part({11, 7, 30, 40})) << name;
  }
}

TEST_F(DecodeImageStageTest, PullsBackExactlyTheRegion) {
  ASSERT_TRUE(Init().ok());
  const Region region{1, 2, 3, 4};
  EXPECT_EQ(stage_->InputRegion(nullptr, region), region);
}

TEST_F(DecodeImageStageTest, NothingWantedIsNothingDone) {
  ASSERT_TRUE(Init().ok());
  EXPECT_TRUE(Process(ReadReference("damaged_half.jpg"), {5, 5, 0, 0}).ok());
  EXPECT_TRUE(Process("", {}).ok());
}

TEST_F(DecodeImageStageTest, PlaceFollowsTheOption) {
  ASSERT_TRUE(Init().ok());
  EXPECT_EQ(stage_->place(), Place::kAuto);
  DecodeImage options;
  for (const auto& [device, place] : {std::pair(DecodeImage::AUTO, Place::kAuto),
                                      {DecodeImage::HOST, Place::kHost},
                                      {DecodeImage::DEVICE, Place::kDevice}}) {
    options.set_device(device);
    ASSERT_TRUE(Init(options).ok());
    EXPECT_EQ(stage_->place(), place);
  }
}

TEST_F(DecodeImageStageTest, MaxPixelsHasARange) {
  DecodeImage options;
  for (int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{4294836226}}) {
    options.set_max_pixels(bad);
    const absl::Status status = Init(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("max_pixels is " + std::to_string(bad)),
                      HasSubstr("expected 1 to 4294836225")));
  }
  options.set_max_pixels(4294836225);
  EXPECT_TRUE(Init(options).ok());
}

TEST_F(DecodeImageStageTest, LargeImagesAreRefusedByTheirHeaders) {
  ASSERT_TRUE(Init().ok());
  const auto start = std::chrono::steady_clock::now();
  for (const auto& [name, size] : {std::pair("bomb_65500.jpg", "65500 x 65500 = 4290250000 pixels"),
                                   {"bomb.png", "100000 x 100000 = 10000000000 pixels"}}) {
    const absl::Status status = Probe(ReadReference(name));
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(size), HasSubstr("max_pixels (178956970)")));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  DecodeImage options;
  options.set_max_pixels(61 * 45);
  ASSERT_TRUE(Init(options).ok());
  EXPECT_TRUE(Probe(ReadReference("s_2x2_61x45.jpg")).ok());
  options.set_max_pixels(61 * 45 - 1);
  ASSERT_TRUE(Init(options).ok());
  EXPECT_FALSE(Probe(ReadReference("s_2x2_61x45.jpg")).ok());
}

TEST_F(DecodeImageStageTest, SaysWhatIsWrongWithAFile) {
  ASSERT_TRUE(Init().ok());
  EXPECT_EQ(Probe("").message(), "empty file");
  EXPECT_THAT(std::string(Probe("<html>").message()), HasSubstr(R"("<html>")"));
  EXPECT_THAT(std::string(Probe(ReadReference("other_WebP.jpg")).message()),
              HasSubstr("content is WebP"));
  const std::string half = ReadReference("damaged_half.jpg");
  ASSERT_TRUE(Probe(half).ok());
  EXPECT_THAT(std::string(Process(half, Region::Whole(size_)).message()),
              AllOf(HasSubstr("truncated"), HasSubstr(std::to_string(half.size()) + " bytes")));
}

}  // namespace
}  // namespace penstock
