// Where a Cache of encoded samples goes, and what memory is left for the others.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/planner.h"
#include "penstock/tests/pipeline/encoded_cache_fixture.h"

namespace penstock::testing {
namespace {

class CachePlaceTest : public EncodedCacheFixture {
 protected:
  PlannedOutput Plan(int64_t bytes, const std::string& decode = "device: DEVICE") {
    const auto graph =
        ParseGraph(Text(absl::StrCat("bytes: ", bytes), decode), "test.textproto", {}, registry_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    planner_.registry = &registry_;
    auto outputs = MakePlans(*graph, planner_);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return std::move(outputs->front());
  }
  // Device memory that the plan takes but for the cache.
  static int64_t Others(const ExecutionPlan& plan) {
    return static_cast<int64_t>(plan.layout.device_bytes() * plan.seats +
                                (plan.arena_bytes + plan.scratch_bytes) * plan.streams);
  }
  PlannerOptions planner_;
};

constexpr int64_t kAll = int64_t{kImages} * (kFileBytes + 16);

TEST_F(CachePlaceTest, AutoIsAsNearAsAllOfItFits) {
  PlannedOutput all = Plan(1000000);
  EXPECT_EQ(all.plan.encoded_cache.place, CachePlace::kDevice);
  EXPECT_EQ(all.plan.encoded_cache.bytes, size_t{kAll});
  EXPECT_EQ(all.note.cache_why, absl::StrCat("all samples take about ", kAll, " bytes, which fit"));
  const int64_t others = Others(all.plan);

  planner_.free_device_bytes = others + kAll;
  EXPECT_EQ(Plan(1000000).plan.encoded_cache.place, CachePlace::kDevice);
  planner_.free_device_bytes = others + kAll - 1;
  const PlannedOutput pinned = Plan(1000000);
  EXPECT_EQ(pinned.plan.encoded_cache.place, CachePlace::kPinned);
  EXPECT_EQ(pinned.note.cache_why,
            absl::StrCat("all samples take about ", kAll, " bytes, the device has ", kAll - 1));

  planner_.free_device_bytes = 0;
  EXPECT_EQ(Plan(kAll).plan.encoded_cache.place, CachePlace::kDevice);
  const PlannedOutput some = Plan(kAll - 1);
  EXPECT_EQ(some.plan.encoded_cache.place, CachePlace::kPinned);
  EXPECT_EQ(some.plan.encoded_cache.bytes, size_t{kAll - 1});
  EXPECT_EQ(some.note.cache_why,
            absl::StrCat("all samples take about ", kAll, " bytes, more than `bytes`"));

  const auto slabs = static_cast<int64_t>(some.plan.layout.host_bytes()) * some.plan.seats;
  planner_.max_pinned_bytes = slabs + kAll - 1;
  EXPECT_EQ(Plan(kAll - 1).plan.encoded_cache.place, CachePlace::kPinned);
  planner_.max_pinned_bytes = slabs + kAll - 2;
  EXPECT_EQ(Plan(kAll - 1).plan.encoded_cache.place, CachePlace::kHost);
}

TEST_F(CachePlaceTest, TheHostPlanKeepsThemOnTheHost) {
  const PlannedOutput output = Plan(1000000, "device: HOST");
  EXPECT_EQ(output.plan.encoded_cache.place, CachePlace::kHost);
  EXPECT_EQ(output.note.cache_why,
            "the stages before Collate run on the host: 'decode_fake' says HOST");
}

// With less device memory the arenas give way, down to 8 MiB each; then the plan is refused.
TEST_F(CachePlaceTest, ArenasTakeWhatIsLeft) {
  const PlannedOutput all = Plan(1000);
  EXPECT_EQ(all.plan.arena_bytes, size_t{64} << 20);
  EXPECT_EQ(all.plan.streams, 2);  // One each for two batches in flight.
  planner_.max_device_bytes = Others(all.plan) - 2 * (int64_t{1} << 20);
  EXPECT_EQ(Plan(1000).plan.arena_bytes, size_t{63} << 20);
  planner_.max_device_bytes = Others(all.plan) - 2 * (int64_t{56} << 20);
  EXPECT_EQ(Plan(1000).plan.arena_bytes, size_t{8} << 20);
  planner_.max_device_bytes -= 1;
  const auto graph = ParseGraph(Text("bytes: 1000"), "test.textproto", {}, registry_);
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(MakePlans(*graph, planner_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::testing
