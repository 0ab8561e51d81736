// The graphs that come with Penstock: good, and what their comments say.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/validate.h"
#include "penstock/stages/plan_stage.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

class PrebuiltTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return absl::StrCat("graphs/", GetParam(), ".textproto"); }
};

TEST_P(PrebuiltTest, IsValidAndItsOptionsAreInRange) {
  const auto graph = LoadGraph(path(), {{"data", "/data"}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().name(), GetParam());
  GraphErrors errors(*graph);
  const ValidGraph valid = ValidateGraph(*graph, Registry::Default(), errors);
  ASSERT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(valid.outputs.size(), 1u);
  BatchSettings settings;
  for (const ValidNode& node : valid.nodes) {
    if (node.entry->sample) {
      EXPECT_TRUE(node.entry->sample()->Init(*node.options).ok()) << node.name;
    }
    if (node.entry->plan) {
      EXPECT_TRUE(node.entry->plan()->Apply(*node.options, settings).ok()) << node.name;
    }
  }
  EXPECT_GT(settings.batch_size, 0);
}

TEST_P(PrebuiltTest, AsksForData) {
  const auto graph = LoadGraph(path());
  ASSERT_FALSE(graph.ok());
  const std::string message(graph.status().message());
  EXPECT_EQ(message.find(path() + ":"), 0u) << message;
  EXPECT_NE(message.find(": ${data} has no value; give it with --data PATH"), std::string::npos)
      << message;
}

INSTANTIATE_TEST_SUITE_P(All, PrebuiltTest,
                         ::testing::Values("array", "cifar10_train", "cifar10_eval",
                                           "imagenet_train", "imagenet_eval"));

}  // namespace
}  // namespace penstock
