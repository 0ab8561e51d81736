#include "penstock/tools/stats_json.h"

#include <limits>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace penstock {
namespace {

RunStatistics Example() {
  RunStatistics s;
  s.graph = "train";
  s.device = "sim";
  s.samples = 20;
  s.bytes_uploaded = std::numeric_limits<int64_t>::max();
  s.bytes_gathered = 61440;
  s.limit = Limit::kUpload;
  s.epochs = {{.epoch = 0, .batches = 3, .samples = 20, .seconds = 0.5}};
  s.stages = {{.name = "read_cifar10", .place = "io", .busy_s = 1.5, .items = 7}};
  return s;
}

TEST(StatsJsonTest, NumbersAreNumbers) {
  const auto json = nlohmann::json::parse(StatsJson({{"upload", Example()}}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["samples"], 20);
  EXPECT_EQ(json["bytes_uploaded"].get<int64_t>(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(json["bytes_gathered"], 61440);
  EXPECT_TRUE(json["seconds"].is_number());
  EXPECT_EQ(json["limit"], "upload");
  EXPECT_EQ(json["epochs"][0]["seconds"], 0.5);
  EXPECT_EQ(json["stages"][0]["busy_s"], 1.5);
  EXPECT_EQ(json["stages"][0]["items"], 7);
  EXPECT_FALSE(json.contains("outputs"));
}

TEST(StatsJsonTest, HasNoInfinities) {
  RunStatistics s = Example();
  s.samples_per_second = std::numeric_limits<double>::infinity();
  s.overlap_fraction = std::numeric_limits<double>::quiet_NaN();
  const auto json = nlohmann::json::parse(StatsJson({{"upload", s}}));
  EXPECT_EQ(json["samples_per_second"], 0);
  EXPECT_EQ(json["overlap_fraction"], 0);
}

TEST(StatsJsonTest, NamesNeedNotBeUtf8) {
  RunStatistics s = Example();
  s.verdict = "limited by \xff";
  const auto json = nlohmann::json::parse(StatsJson({{"upload", s}}));
  EXPECT_EQ(json["verdict"], "limited by \xef\xbf\xbd");
}

TEST(StatsJsonTest, SeveralOutputs) {
  RunStatistics second = Example();
  second.samples = 40;
  const auto json = nlohmann::json::parse(StatsJson({{"train", Example()}, {"preview", second}}));
  EXPECT_EQ(json["samples"], 20);
  ASSERT_EQ(json["outputs"].size(), 2u);
  EXPECT_EQ(json["outputs"][0]["output"], "train");
  EXPECT_EQ(json["outputs"][1]["output"], "preview");
  EXPECT_EQ(json["outputs"][1]["samples"], 40);
}

TEST(StatsJsonTest, SeveralDevices) {
  RunStatistics sum = Example(), second = Example();
  sum.device = "sim,sim";
  second.samples = 40;
  const auto json = nlohmann::json::parse(StatsJson({{"train", sum, {Example(), second}}}));
  EXPECT_EQ(json["device"], "sim,sim");
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][0]["samples"], 20);
  EXPECT_EQ(json["devices"][1]["samples"], 40);
  EXPECT_EQ(json["devices"][1]["device"], "sim");
  const auto one = nlohmann::json::parse(StatsJson({{"train", sum, {Example()}}}));
  EXPECT_FALSE(one.contains("devices"));
}

}  // namespace
}  // namespace penstock
