// Graphs over arrays: which field the stages work on, and rows that are no images.
#include <cstring>
#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "penstock/tests/pipeline/run.h"
#include "penstock/tests/testing/fake_stages.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kBytes = 7200;

class ArraysTest : public ::testing::Test {
 protected:
  ArraysTest() : path_(NewTestFolder("arrays") + "/numbers.bin") {
    for (int i = 0; i < kBytes; ++i) content_ += static_cast<char>(i * 5 + i / 256);
    std::ofstream(path_, std::ios::binary) << content_;
  }
  // `raw`: of ReadArray; `before` and `behind`: nodes before Collate and behind Upload.
  RunResult Run(const std::string& raw, const std::string& before = "",
                const std::string& behind = "") {
    return RunGraph(absl::StrCat(R"(node { name: "read" stage {
                                   [type.googleapis.com/penstock.ReadArray] { path: ")",
                                 path_, R"(" raw { )", raw, " } } } }", before, R"(
      node { stage { [type.googleapis.com/penstock.Collate] { batch_size: 4 } } }
      node { stage { [type.googleapis.com/penstock.Upload] { } } })",
                                 behind),
                    {});
  }
  std::string path_, content_;
};

std::string Node(const std::string& stage) {
  return absl::StrCat("node { stage { [type.googleapis.com/penstock.", stage, "] { ");
}

TEST_F(ArraysTest, RowsOfNumbers) {
  const RunResult run = Run("dtype: FLOAT32 shape: 300");
  ASSERT_TRUE(run.status.ok()) << run.status;
  ASSERT_EQ(run.batches.size(), 2u);
  EXPECT_THAT(run.batches[0].names, ElementsAre("data"));
  EXPECT_THAT(run.batches[0].shapes[0], ElementsAre(4, 300));
  EXPECT_THAT(run.batches[1].shapes[0], ElementsAre(2, 300));
  EXPECT_TRUE(run.Bytes("data") == content_);
}

// A row without dimensions is a number, and the batch a list of them.
TEST_F(ArraysTest, Numbers) {
  const RunResult run = Run("dtype: FLOAT64");
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_EQ(run.batches.size(), 900u / 4);
  EXPECT_THAT(run.batches[0].shapes[0], ElementsAre(4));
  EXPECT_TRUE(run.Bytes("data") == content_);
}

TEST_F(ArraysTest, RowsOfThreeDimensionsThatAreNoImages) {
  const RunResult run = Run("dtype: INT16 shape: [3, 20, 10]");
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_THAT(run.batches[0].shapes[0], ElementsAre(4, 3, 20, 10));
  EXPECT_TRUE(run.Bytes("data") == content_);
}

TEST_F(ArraysTest, ImagesAreWorkedOn) {
  const RunResult run = Run("shape: [20, 10, 3]", Node("CenterCrop") + "height: 2 width: 10 } } }");
  ASSERT_TRUE(run.status.ok()) << run.status;
  EXPECT_THAT(run.batches[0].shapes[0], ElementsAre(4, 2, 10, 3));
  std::string expected;  // Lines 9 and 10 of the 20 of each image.
  for (int image = 0; image < 12; ++image) expected += content_.substr(image * 600 + 9 * 30, 60);
  EXPECT_TRUE(run.Bytes("image") == expected);
}

TEST_F(ArraysTest, ImagesAreNormalisedBehindUpload) {
  const RunResult run =
      Run("shape: [20, 10, 3]", "", Node("Normalize") + "scale: 1 layout: NHWC } } }");
  ASSERT_TRUE(run.status.ok()) << run.status;
  const std::string bytes = run.Bytes("image");
  ASSERT_EQ(bytes.size(), 4u * kBytes);
  for (int i = 0; i < kBytes; ++i) {
    float value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    ASSERT_EQ(value, static_cast<uint8_t>(content_[i])) << i;
  }
}

TEST_F(ArraysTest, StagesOnPixelsRefuseRowsThatAreNone) {
  for (const auto& [before, behind] :
       {std::pair(Node("RandomHorizontalFlip") + "} } }", std::string()),
        std::pair(std::string(), Node("Normalize") + "} } }")}) {
    const absl::Status status = Run("dtype: FLOAT32 shape: [3, 300]", before, behind).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'image'"), HasSubstr("'data'")));
  }
}

}  // namespace
}  // namespace penstock::testing
