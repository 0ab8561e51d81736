#include "penstock/tools/summary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SummaryTest, SaysWhoDecoded) {
  RunStatistics s;
  EXPECT_THAT(Summary(s, {}), Not(HasSubstr("decoded")));
  s.images_decoded_device = 168;
  s.images_decoded_host = 24;
  EXPECT_THAT(Summary(s, {}), HasSubstr("\n  decoded 168 images on the device, 24 on the host\n"));
  s.images_repaired = 5;
  s.cache_hits = 76;
  EXPECT_THAT(Summary(s, {}),
              HasSubstr("\n  decoded 168 images on the device, 24 on the host (5 that the device "
                        "found damaged); 76 were kept by a Cache\n"));
}

}  // namespace
}  // namespace penstock
