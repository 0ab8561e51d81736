#include "penstock/stages/collate/collate_stage.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

std::string Applied(const std::string& text, BatchSettings& settings) {
  Collate options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options)) << text;
  const absl::Status status = CollateStage().Apply(options, settings);
  if (status.ok()) return "OK";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

std::string Refusal(const std::string& text) {
  BatchSettings settings;
  return Applied(text, settings);
}

TEST(CollateStage, RefusesBatchSizesOutOfRange) {
  EXPECT_EQ(Refusal(""), "batch_size is not set, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: 0"), "batch_size is 0, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: -1"), "batch_size is -1, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: 2147483648"),
            "batch_size is 2147483648, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: 1000000000000"),
            "batch_size is 1000000000000, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: 1"), "OK");
  EXPECT_EQ(Refusal("batch_size: 2147483647"), "OK");
}

TEST(CollateStage, RefusesShapesOutOfRange) {
  EXPECT_EQ(Refusal("batch_size: 1 shape: [3, 0]"),
            "shape has an extent of 0, expected 1 to 2147483647");
  EXPECT_EQ(Refusal("batch_size: 1 shape: -5"),
            "shape has an extent of -5, expected 1 to 2147483647");
}

TEST(CollateStage, RefusesAnUnknownTail) {
  EXPECT_EQ(Refusal("batch_size: 1 tail: 3"), "tail is 3, expected PARTIAL or DROP");
}

TEST(CollateStage, SettlesBatchTailAndShape) {
  BatchSettings settings;
  EXPECT_EQ(Applied("batch_size: 256 tail: DROP shape: [32, 32, 3]", settings), "OK");
  EXPECT_EQ(settings.batch_size, 256);
  EXPECT_EQ(settings.tail, Tail::kDrop);
  EXPECT_EQ(settings.shape, (std::vector<int64_t>{32, 32, 3}));
  EXPECT_EQ(Applied("batch_size: 8", settings), "OK");
  EXPECT_EQ(settings.tail, Tail::kPartial);
  EXPECT_TRUE(settings.shape.empty());
}

}  // namespace
}  // namespace penstock
