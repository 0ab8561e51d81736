#include "penstock/graphs/utf8.h"

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(IsUtf8, TakesAllThatRfc3629Allows) {
  for (const char* good : {"", "plain", "\u00e9", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff",
                           "\U00010000", "\U0010ffff", "caf\u00e9 \u65e5\u672c"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
}

TEST(IsUtf8, RefusesTheRest) {
  for (const char* bad : {
           "\x80",              // A byte from within a character.
           "\xc3",              // Ends within one.
           "\xe2\x82",          //
           "\xf0\x9f\x98",      //
           "\xc3(",             // Goes on wrongly.
           "\xc0\xaf",          // '/' in two bytes,
           "\xe0\x80\xaf",      // in three,
           "\xf0\x80\x80\xaf",  // in four.
           "\xed\xa0\x80",      // A surrogate.
           "\xf4\x90\x80\x80",  // Above U+10FFFF.
           "\xf8\x88\x80\x80\x80",
           "\xff",
       }) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(Utf8Prefix, EndsBeforeTheFirstBadByte) {
  EXPECT_EQ(Utf8Prefix("ab\u00e9\xff"), 4u);
  EXPECT_EQ(Utf8Prefix("\xff"), 0u);
  EXPECT_EQ(Utf8Prefix("abc"), 3u);
}

}  // namespace
}  // namespace penstock
