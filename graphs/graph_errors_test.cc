#include "penstock/graphs/graph_errors.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/testing/graph_text.h"
#include "penstock/graphs/testing/stages.h"
#include "penstock/graphs/testing/stages.pb.h"
#include "penstock/graphs/validate.h"
#include "penstock/stages/collate/collate.pb.h"
#include "penstock/stages/plan_stage.h"

namespace penstock {
namespace {

using testing::Head;
using testing::Lines;
using testing::Node;
using testing::Tail;

Graph Parsed(const std::string& text, const GraphEdits& edits = {}) {
  auto graph = ParseGraph(text, "dir/g.textproto", edits, testing::TestRegistry());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph(GraphConfig());
}

TEST(GraphErrors, NoneIsOk) {
  const Graph graph{GraphConfig()};
  const GraphErrors errors(graph);
  EXPECT_TRUE(errors.empty());
  EXPECT_TRUE(errors.status().ok());
}

TEST(GraphErrors, ComeInTheOrderOfTheText) {
  const Graph graph = Parsed("\n" + Head() + Node("testing.Resize", "size { height: 3 }") + Tail(),
                             {{}, {"seed=3"}});
  GraphErrors errors(graph);
  errors.AddGraph("", "of the graph");
  errors.AddNode(2, "collate", "batch_size", "batch_size is wrong");
  errors.AddGraph("seed", "seed is wrong");
  errors.AddNode(1, "resize", "size.height", "height is wrong");
  errors.AddNode(1, "resize", "size.width", "width is missing");
  errors.AddNode(1, "resize", "", "the node is wrong");
  errors.AddNode(1, "resize", "steps", "none");
  errors.Add({1, 2, ""}, "in the text");
  EXPECT_FALSE(errors.empty());
  EXPECT_EQ(errors.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(errors.status().message()),
            Lines({"dir/g.textproto:1:2: in the text",
                   "dir/g.textproto:3:1: node 'resize': the node is wrong",
                   "dir/g.textproto:3:1: node 'resize', steps: none",
                   "dir/g.textproto:3:64: node 'resize': width is missing",
                   "dir/g.textproto:3:71: node 'resize': height is wrong",
                   "dir/g.textproto:4:57: node 'collate': batch_size is wrong",
                   "dir/g.textproto: of the graph", "--set seed=3: seed is wrong"}));
}

TEST(GraphErrors, WithoutTextTheyNameNodeAndField) {
  const Graph graph{GraphConfig()};
  GraphErrors errors(graph);
  errors.AddNode(0, "resize", "size.height", "expected more");
  errors.AddNode(0, "resize", "size", "size is missing");
  errors.AddNode(0, "resize", "", "no good");
  errors.AddNode(0, "", "", "it has no name");
  errors.AddGraph("seed", "expected more");
  errors.AddGraph("", "no good");
  EXPECT_EQ(
      std::string(errors.status().message()),
      Lines({"node 'resize', size.height: expected more", "node 'resize': size is missing",
             "node 'resize': no good", "node: it has no name", "seed: expected more", "no good"}));
}

TEST(GraphErrors, EachIsOneLine) {
  const Graph graph{GraphConfig()};
  GraphErrors errors(graph);
  errors.AddGraph("", "'a\nb\tc'");
  EXPECT_EQ(std::string(errors.status().message()), "'a b c'");
}

TEST(LeadingField, IsTheOptionThatAMessageBeginsWith) {
  const testing::Resize resize;
  EXPECT_EQ(LeadingField("shorter_edge is 0, expected 1 to 65535", resize), "shorter_edge");
  EXPECT_EQ(LeadingField("size.height is 0", resize), "size.height");
  EXPECT_EQ(LeadingField("size.depth is 0", resize), "size");
  EXPECT_EQ(LeadingField("size: too small", resize), "size");
  EXPECT_EQ(LeadingField("scale[1] is 0", resize), "scale");
  EXPECT_EQ(LeadingField("scale.", resize), "scale");
  EXPECT_EQ(LeadingField("scale", resize), "scale");
  EXPECT_EQ(LeadingField("scales are wrong", resize), "");
  EXPECT_EQ(LeadingField("the size is 0", resize), "");
  EXPECT_EQ(LeadingField("", resize), "");
}

// Case G12: the message is the stage's, the place is ours.
TEST(GraphErrors, AnOptionsRangeIsReportedAtTheOption) {
  for (const char* value : {"0", "-1", "2147483648", "1000000000000"}) {
    const Graph graph = Parsed(
        Head() + Node("Collate", absl::StrCat("tail: DROP batch_size: ", value)) + Node("Upload"));
    GraphErrors errors(graph);
    const ValidGraph valid = ValidateGraph(graph, testing::TestRegistry(), errors);
    ASSERT_TRUE(errors.empty()) << errors.status();
    const ValidNode& node = valid.nodes[1];
    BatchSettings settings;
    const absl::Status status = node.entry->plan()->Apply(*node.options, settings);
    errors.AddNode(1, node.name, LeadingField(status.message(), *node.options), status.message());
    EXPECT_EQ(std::string(errors.status().message()),
              absl::StrCat("dir/g.textproto:2:68: node 'collate': batch_size is ", value,
                           ", expected 1 to 2147483647"));
  }
}

}  // namespace
}  // namespace penstock
