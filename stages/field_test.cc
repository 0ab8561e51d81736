#include "penstock/stages/field.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(Region, ClippedToTheImage) {
  const ImageSize size = {10, 20};
  EXPECT_EQ((Region{2, 3, 4, 5}.ClippedTo(size)), (Region{2, 3, 4, 5}));
  EXPECT_EQ((Region{-2, -3, 4, 5}.ClippedTo(size)), (Region{0, 0, 2, 2}));
  EXPECT_EQ((Region{8, 18, 4, 5}.ClippedTo(size)), (Region{8, 18, 2, 2}));
  EXPECT_TRUE((Region{10, 0, 4, 5}.ClippedTo(size)).empty());
  EXPECT_TRUE((Region{-9, -9, 4, 5}.ClippedTo(size)).empty());
  EXPECT_EQ((Region{-5, -5, 50, 50}.ClippedTo(size)), Region::Whole(size));
}

TEST(FieldSpec, DescribesImages) {
  FieldSpec image = FieldSpec::Image("image", {});
  EXPECT_TRUE(image.is_image());
  EXPECT_FALSE(image.fixed());
  EXPECT_EQ(image.size(), ImageSize{});
  EXPECT_EQ(image.channels(), 3);
  EXPECT_EQ(image.ToString(), "uint8 [?, ?, 3]");
  image.set_size({4, 5});
  EXPECT_TRUE(image.fixed());
  EXPECT_EQ(image.bytes(), 60);
  EXPECT_EQ(image.size(), (ImageSize{4, 5}));
  image.dtype = kFloat16;
  image.layout = ImageLayout::kChw;
  image.shape = {3, 4, 5};
  EXPECT_EQ(image.size(), (ImageSize{4, 5}));
  EXPECT_EQ(image.channels(), 3);
  EXPECT_EQ(image.bytes(), 120);
  image.set_size({6, 7});
  EXPECT_EQ(image.ToString(), "float16 [3, 6, 7]");
}

TEST(FieldSpec, DescribesOthers) {
  const FieldSpec encoded = FieldSpec::Encoded("image"), label = FieldSpec::Scalar("label", kInt64);
  EXPECT_FALSE(encoded.fixed());
  EXPECT_FALSE(encoded.is_image());
  EXPECT_EQ(encoded.ToString(), "encoded");
  EXPECT_TRUE(label.fixed());
  EXPECT_EQ(label.bytes(), 8);
  EXPECT_EQ(label.ToString(), "int64 []");
  const SampleSpec sample = {{encoded, label}};
  EXPECT_EQ(sample.Find("label"), 1);
  EXPECT_EQ(sample.Find("mask"), -1);
  EXPECT_EQ(sample.Names(), "'image', 'label'");
}

TEST(FieldView, AddressesPixelsOfTheWholeImage) {
  std::vector<uint8_t> bytes(4 * 5 * 3);
  const FieldView view = {
      .address = reinterpret_cast<uint64_t>(bytes.data()), .bytes = 60, .region = {10, 20, 4, 5}};
  EXPECT_EQ(view.at(10, 20), bytes.data());
  EXPECT_EQ(view.at(12, 23), bytes.data() + (2 * 5 + 3) * 3);
}

}  // namespace
}  // namespace penstock
