#include "penstock/stages/nearest.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

const std::vector<std::string>& Known() {
  static const auto* known = new std::vector<std::string>{
      "penstock.CenterCrop", "penstock.Collate",         "penstock.DecodeImage",
      "penstock.Normalize",  "penstock.RandomCrop",      "penstock.RandomHorizontalFlip",
      "penstock.Resize",     "penstock.ReadImageFolder", "penstock.Upload"};
  return *known;
}

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(Nearest("decode_jpg", Known()), "penstock.DecodeImage");
  EXPECT_EQ(Nearest("penstock.Normalise", Known()), "penstock.Normalize");
  EXPECT_EQ(Nearest("centre_crop", Known()), "penstock.CenterCrop");
  EXPECT_EQ(Nearest("RESIZE", Known()), "penstock.Resize");
  EXPECT_EQ(Nearest("my.package.RandomHorizontalFlop", Known()), "penstock.RandomHorizontalFlip");
  EXPECT_EQ(Nearest("read_images", Known()), "penstock.ReadImageFolder");
}

TEST(Nearest, DisregardsCaseAndUnderscores) {
  const std::vector<std::string> known = {"my.RandomXCrop", "my.RandomCrop"};
  EXPECT_EQ(Nearest("random_crop", known), "my.RandomCrop");
  EXPECT_EQ(Nearest("RANDOMCROP", known), "my.RandomCrop");
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
  EXPECT_EQ(Nearest("xyzzy", Known()), "");
  EXPECT_EQ(Nearest("", Known()), "");
  EXPECT_EQ(Nearest("resize", {}), "");
}

}  // namespace
}  // namespace penstock
