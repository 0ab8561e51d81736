#include "penstock/graphs/byte_count.h"

#include <limits>

#include "gtest/gtest.h"

namespace penstock {
namespace {

TEST(ParseByteCount, HasUnitsOfBothKinds) {
  EXPECT_EQ(ParseByteCount("0"), 0);
  EXPECT_EQ(ParseByteCount("0KiB"), 0);
  EXPECT_EQ(ParseByteCount("010"), 10);
  EXPECT_EQ(ParseByteCount("536870912"), 536870912);
  EXPECT_EQ(ParseByteCount("3KiB"), 3072);
  EXPECT_EQ(ParseByteCount("512MiB"), 536870912);
  EXPECT_EQ(ParseByteCount("5GiB"), 5368709120);
  EXPECT_EQ(ParseByteCount("2TiB"), 2199023255552);
  EXPECT_EQ(ParseByteCount("3kB"), 3000);
  EXPECT_EQ(ParseByteCount("3KB"), 3000);
  EXPECT_EQ(ParseByteCount("3MB"), 3000000);
  EXPECT_EQ(ParseByteCount("5GB"), 5000000000);
  EXPECT_EQ(ParseByteCount("2TB"), 2000000000000);
}

TEST(ParseByteCount, EndsWhereTheNumbersEnd) {
  EXPECT_EQ(ParseByteCount("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseByteCount("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseByteCount("8388607TiB"), 9223370937343148032);
  EXPECT_EQ(ParseByteCount("8388608TiB"), std::nullopt);
  EXPECT_EQ(ParseByteCount("9223372TB"), 9223372000000000000);
  EXPECT_EQ(ParseByteCount("9223373TB"), std::nullopt);
}

TEST(ParseByteCount, TakesNothingElse) {
  for (const char* text : {"", "GiB", "-1", "+1", " 1", "1 ", "1 GiB", "1.5GiB", "1G", "1Gi",
                           "1gib", "1B", "1GiBMiB", "0x10", "x", "010KiB", "00GB"}) {
    EXPECT_EQ(ParseByteCount(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penstock
