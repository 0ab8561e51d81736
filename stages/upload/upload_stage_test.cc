#include "penstock/stages/upload/upload_stage.h"

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

std::string Applied(const std::string& text, BatchSettings& settings) {
  Upload options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &options)) << text;
  const absl::Status status = UploadStage().Apply(options, settings);
  if (status.ok()) return "OK";
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

std::string Refusal(const std::string& text) {
  BatchSettings settings;
  return Applied(text, settings);
}

TEST(UploadStage, RefusesOptionsOutOfRange) {
  EXPECT_EQ(Refusal("streams: -1"),
            "streams is -1, expected 1 to 32, or 0 to let the planner choose");
  EXPECT_EQ(Refusal("streams: 33"),
            "streams is 33, expected 1 to 32, or 0 to let the planner choose");
  EXPECT_EQ(Refusal("piece_bytes: 0"), "piece_bytes is 0, expected 65536 to 1073741824");
  EXPECT_EQ(Refusal("piece_bytes: -1"), "piece_bytes is -1, expected 65536 to 1073741824");
  EXPECT_EQ(Refusal("piece_bytes: 65535"), "piece_bytes is 65535, expected 65536 to 1073741824");
  EXPECT_EQ(Refusal("piece_bytes: 1000000000000"),
            "piece_bytes is 1000000000000, expected 65536 to 1073741824");
}

TEST(UploadStage, SettlesStreamsAndPieces) {
  BatchSettings settings;
  EXPECT_EQ(Applied("", settings), "OK");
  EXPECT_EQ(settings.streams, 0);
  EXPECT_EQ(settings.piece_bytes, 0);
  EXPECT_EQ(Applied("streams: 32 piece_bytes: 65536", settings), "OK");
  EXPECT_EQ(settings.streams, 32);
  EXPECT_EQ(settings.piece_bytes, 65536);
}

}  // namespace
}  // namespace penstock
