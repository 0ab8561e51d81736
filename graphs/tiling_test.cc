#include "penstock/graphs/tiling.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/fake_stages.h"

namespace penstock {
namespace {

using Names = std::vector<std::string>;

// Takes no stage that adds 0.
template <class... Host>
class PickyForm final : public DeviceForm<DeviceKind::kSim, Host...> {
 public:
  using DeviceForm<DeviceKind::kSim, Host...>::DeviceForm;
  bool accepts() const override { return !this->template host<0>().IsIdentity(NoParams{}); }
  absl::Status Enqueue(const DeviceCall&) const override { return absl::OkStatus(); }
};

// Of what AddAndTrim gives.
Names Types() { return {"google.protobuf.Int32Value", "google.protobuf.UInt32Value"}; }

// "add", which adds `value`, and "trim".
SampleChain AddAndTrim(int32_t value) {
  SampleChain chain;
  const std::shared_ptr<SampleStage> add = std::make_shared<FakeAdd>();
  const std::shared_ptr<SampleStage> trim = std::make_shared<FakeTrim>();
  google::protobuf::Int32Value options;
  options.set_value(value);
  EXPECT_TRUE(add->Init(options).ok());
  EXPECT_TRUE(trim->Init(google::protobuf::UInt32Value()).ok());
  chain.links.push_back({.node = "add", .stage = add, .random_key = 0, .out = {}});
  chain.links.push_back({.node = "trim", .stage = trim, .random_key = 0, .out = {}});
  return chain;
}

// The steps that do AddAndTrim(value); nullopt if there are none.
std::optional<Names> Steps(const Registry& registry, int32_t value) {
  const auto steps = Tile(AddAndTrim(value), Types(), 0, 2, DeviceKind::kSim, registry);
  if (!steps) return std::nullopt;
  Names names;
  for (const DeviceStep& step : *steps) names.push_back(step.name);
  return names;
}

TEST(Tile, PrefersTheFewestSteps) {
  Registry registry;
  registry.Add<SimForm<FakeAdd>>();
  registry.Add<SimForm<FakeTrim>>();
  EXPECT_EQ(Steps(registry, 1), (Names{"add", "trim"}));
  registry.Add<SimForm<FakeAdd, FakeTrim>>();
  EXPECT_EQ(Steps(registry, 1), Names{"add+trim"});
}

TEST(Tile, LeavesOutFormsThatDoNotAccept) {
  Registry registry;
  registry.Add<PickyForm<FakeAdd, FakeTrim>>();
  EXPECT_EQ(Steps(registry, 1), Names{"add+trim"});
  EXPECT_EQ(Steps(registry, 0), std::nullopt);
  registry.Add<SimForm<FakeAdd>>();
  registry.Add<SimForm<FakeTrim>>();
  EXPECT_EQ(Steps(registry, 0), (Names{"add", "trim"}));
}

TEST(Tile, NeedsAFormOfEachStage) {
  Registry registry;
  registry.Add<SimForm<FakeAdd>>();
  EXPECT_EQ(Steps(registry, 1), std::nullopt);
}

TEST(Tile, NamesTheFirstStageWithoutAForm) {
  const auto why = [&](const Registry& registry) {
    return WhyNotTiled(AddAndTrim(0), Types(), 0, 2, DeviceKind::kSim, registry);
  };
  Registry registry;
  registry.Add<PickyForm<FakeAdd, FakeTrim>>();
  EXPECT_EQ(why(registry), "no form on this device takes 'add' with these options");
  registry.Add<SimForm<FakeAdd>>();
  EXPECT_EQ(why(registry), "no form on this device takes 'trim' behind 'add' with these options");
}

}  // namespace
}  // namespace penstock
