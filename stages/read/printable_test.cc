#include "penstock/stages/read/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(PrintableTest, LeavesTextAsItIs) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("Class A/my cat (1).jpg"), "Class A/my cat (1).jpg");
  EXPECT_EQ(Printable("n\xC3\xA4\xE7\x8C\xAB\xF0\x9F\x98\xBC"),
            "n\xC3\xA4\xE7\x8C\xAB\xF0\x9F\x98\xBC");
}

TEST(PrintableTest, ShowsOtherBytes) {
  EXPECT_EQ(Printable("\xFF\xFE.jpg"), R"(\xff\xfe.jpg)");
  EXPECT_EQ(Printable("n\xF1.jpg"), R"(n\xf1.jpg)");
  EXPECT_EQ(Printable("a\nb\tc\x7F"), R"(a\x0ab\x09c\x7f)");
  EXPECT_EQ(Printable(R"(a\xff)"), R"(a\\xff)");
  EXPECT_EQ(Printable(std::string("a\0b", 3)), R"(a\x00b)");
}

TEST(PrintableTest, RefusesWhatOnlyLooksLikeUtf8) {
  EXPECT_EQ(Printable("\xC0\xAF"), R"(\xc0\xaf)");                  // Overlong.
  EXPECT_EQ(Printable("\xE0\x80\x80"), R"(\xe0\x80\x80)");          // Overlong.
  EXPECT_EQ(Printable("\xED\xA0\x80"), R"(\xed\xa0\x80)");          // A surrogate.
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // Beyond U+10FFFF.
  EXPECT_EQ(Printable("\xC3"), R"(\xc3)");                          // Cut off.
  EXPECT_EQ(Printable("\xE7\x8C!"), R"(\xe7\x8c!)");
}

}  // namespace
}  // namespace penstock
