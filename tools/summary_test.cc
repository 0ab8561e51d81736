#include "penstock/tools/summary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Of what is near which device, where that makes a difference.
TEST(StartTextTest, SaysWhereIoThreadsAre) {
  RunStatistics s;
  s.graph = "train";
  s.device = "cuda:0, cuda:1, cuda:2";
  PipelineInfo info;
  info.threads = 8;
  info.threads_reason = "as asked";
  const std::string first = "train on cuda:0, cuda:1, cuda:2, 8 threads (as asked)\n";
  info.io_threads = {{8, "", {"cuda:0", "cuda:1", "cuda:2"}}};
  EXPECT_EQ(StartText(s, info, {}), first);
  info.io_threads = {{5, "0-3,8-11", {"cuda:0", "cuda:2"}}, {1, "4-7", {"cuda:1"}}};
  EXPECT_EQ(StartText(s, info, {}),
            first +
                "  5 I/O threads on CPUs 0-3,8-11 (near cuda:0, cuda:2), 1 I/O thread on CPUs "
                "4-7 (near cuda:1)\n");
}

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
