// Graphs from files.
#include <fstream>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/testing/graph_text.h"
#include "penstock/graphs/testing/stages.h"

namespace penstock {
namespace {

using testing::Head;
using testing::Lines;
using testing::Tail;

class LoadGraphTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  absl::StatusOr<Graph> Load(const std::string& path, const GraphEdits& edits = {}) {
    return LoadGraph(path, edits, testing::TestRegistry());
  }
};

TEST_F(LoadGraphTest, TheFileGivesTheDefaultName) {
  const std::string path = Write("my-graph.2.textproto", Head() + Tail());
  auto graph = Load(path);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().name(), "my_graph_2");
  graph = Load(path, {{}, {"name=other"}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().name(), "other");
}

TEST_F(LoadGraphTest, ErrorsNameTheFile) {
  const std::string path = Write("wrong.textproto", "seed: x");
  const absl::Status status = Load(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            absl::StrCat(path,
                         ":1:7: seed is x, expected an integer from 0 to "
                         "18446744073709551615"));
}

TEST_F(LoadGraphTest, AnEmptyFileIsAGraphWithoutNodes) {
  auto graph = Load(Write("empty.textproto", ""));
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().node_size(), 0);
}

TEST_F(LoadGraphTest, AFileThatCannotBeReadIsNamedWithTheReason) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/none.textproto");
  absl::Status status = Load(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()),
            absl::StrCat(path, ": cannot be read: No such file or directory"));
  status = Load(::testing::TempDir()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(status.message()),
            absl::StrCat(::testing::TempDir(), ": is a folder, expected a graph"));
}

// The calls of the embedding example compile, and mean the variables.
TEST_F(LoadGraphTest, VariablesMayStandInBracesOrInAMap) {
  const std::string path = Write("none_used.textproto", "");
  const std::string faults =
      Lines({absl::StrCat(path, ": variable 'data' is not used; the graph uses none"),
             absl::StrCat(path, ": the graph has no node, expected a source first")});
  EXPECT_TRUE(LoadGraph(path).ok());
  EXPECT_EQ(std::string(LoadGraph(path, {{"data", "/d"}}).status().message()), faults);
  const std::map<std::string, std::string> variables = {{"data", "/d"}};
  EXPECT_EQ(std::string(LoadGraph(path, variables).status().message()), faults);
}

}  // namespace
}  // namespace penstock
