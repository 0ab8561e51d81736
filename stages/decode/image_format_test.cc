#include "penstock/stages/decode/image_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "penstock/stages/decode/testdata/references.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status StatusOf(const std::string& content) {
  return ImageFormatOf(AsBytes(content)).status();
}

std::string MessageOf(const std::string& content) {
  return std::string(StatusOf(content).message());
}

TEST(ImageFormatTest, TellsJpegAndPngByTheirContent) {
  EXPECT_EQ(*ImageFormatOf(AsBytes(ReadReference("clean.jpg"))), ImageFormat::kJpeg);
  EXPECT_EQ(*ImageFormatOf(AsBytes(ReadReference("pillow.png"))), ImageFormat::kPng);
}

TEST(ImageFormatTest, NamesWhatItKnows) {
  for (const char* name : {"GIF", "WebP", "BMP", "TIFF"}) {
    const std::string file = ReadReference(std::string("other_") + name + ".jpg");
    EXPECT_EQ(MessageOf(file), std::string("content is ") + name + ", expected JPEG or PNG");
    EXPECT_EQ(StatusOf(file).code(), absl::StatusCode::kUnimplemented);
  }
}

TEST(ImageFormatTest, QuotesTextAndUnknownBytes) {
  EXPECT_THAT(MessageOf("<!DOCTYPE html>\n<title>404</title>"),
              AllOf(HasSubstr("content is HTML"), HasSubstr(R"("<!DOCTYPE html>\n<title>404)")));
  EXPECT_THAT(MessageOf("version https://git-lfs.github.com/spec/v1\noid sha256:"),
              HasSubstr(R"("version https://git-lfs.github.c")"));
  EXPECT_THAT(MessageOf(std::string("\xFF\xD8\0\x01", 4)), HasSubstr(R"("\xff\xd8\x00\x01")"));
  EXPECT_EQ(StatusOf("x").code(), absl::StatusCode::kDataLoss);
}

TEST(ImageFormatTest, EmptyFile) { EXPECT_EQ(MessageOf(""), "empty file"); }

}  // namespace
}  // namespace penstock
