#include "penstock/graphs/variables.h"

#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "penstock/graphs/testing/graph_text.h"
#include "penstock/graphs/testing/stages.h"
#include "penstock/graphs/testing/stages.pb.h"

namespace penstock {
namespace {

using testing::Faults;
using testing::Head;
using testing::Lines;
using testing::Node;
using testing::Tail;

// The expansion, or what is wrong.
std::string Expanded(const std::string& text) {
  std::set<std::string> used;
  const std::map<std::string, std::string> variables = {
      {"data", "/d"}, {"A_1", "x"}, {"nested", "${data} $$"}, {"empty", ""}};
  const auto expanded = Expand(text, variables, used);
  return expanded.ok() ? *expanded : std::string(expanded.status().message());
}

TEST(Expand, ReplacesVariables) {
  EXPECT_EQ(Expanded("${data}"), "/d");
  EXPECT_EQ(Expanded("a${data}/${A_1}${data}b"), "a/d/x/db");
  EXPECT_EQ(Expanded("[${empty}]"), "[]");
  EXPECT_EQ(Expanded(""), "");
}

TEST(Expand, DollarsStandForThemselves) {
  EXPECT_EQ(Expanded("$data, $1 and $"), "$data, $1 and $");
  EXPECT_EQ(Expanded("$${data}"), "${data}");
  EXPECT_EQ(Expanded("$$$${data}"), "$${data}");
  EXPECT_EQ(Expanded("$$${data}"), "$/d");
  EXPECT_EQ(Expanded("$$"), "$");
}

TEST(Expand, ValuesAreTakenAsTheyAre) { EXPECT_EQ(Expanded("${nested}"), "${data} $$"); }

TEST(Expand, FaultsAreExplained) {
  EXPECT_EQ(Expanded("${dat}"), "${dat} has no value; give it with --var dat=VALUE");
  EXPECT_EQ(Expanded("${a} ${data} ${b}"),
            "${a} has no value; give it with --var a=VALUE; ${b} has no value; give it with --var "
            "b=VALUE");
  EXPECT_EQ(Expanded("x${data"), "'${' is not closed by '}'; for the characters write $${");
  EXPECT_EQ(Expanded("${}"), "'' is no name of a variable: letters, digits and _");
  EXPECT_EQ(Expanded("${1a}"), "'1a' is no name of a variable: letters, digits and _");
  EXPECT_EQ(Expanded("${a b}"), "'a b' is no name of a variable: letters, digits and _");
}

TEST(ExpandVariables, FillsStringsWhereverTheyStand) {
  const std::string text =
      "name: '${x}'\n" +
      Node("testing.ReadImages",
           "root: '${data}/train' extensions: ['.${x}', 'y'] salt: '${x}' "
           "classes { key: '${x}' value: '${data}' }",
           "name: 'read_${x}' random_key: '${x}'") +
      Node("testing.DecodeImage",
           "extra { [type.googleapis.com/penstock.testing.ReadImages] { root: '${data}' } }",
           "input: 'read_${x}'") +
      Tail();
  const GraphEdits edits = {{{"data", "/d"}, {"x", "1"}}, {}};
  ASSERT_EQ(Faults(text, edits), "");
  const auto graph = ParseGraph(text, "g", edits, testing::TestRegistry());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().name(), "1");
  EXPECT_EQ(graph->config().node(0).name(), "read_1");
  EXPECT_EQ(graph->config().node(0).random_key(), "1");
  EXPECT_EQ(graph->config().node(1).input(0), "read_1");
  testing::ReadImages source;
  ASSERT_TRUE(graph->config().node(0).stage().UnpackTo(&source));
  EXPECT_EQ(source.root(), "/d/train");
  EXPECT_EQ(source.extensions(0), ".1");
  EXPECT_EQ(source.extensions(1), "y");
  EXPECT_EQ(source.salt(), "${x}");  // Bytes are no string.
  ASSERT_EQ(source.classes().count("1"), 1u);
  EXPECT_EQ(source.classes().at("1"), "/d");
  testing::DecodeImage decode;
  testing::ReadImages extra;
  ASSERT_TRUE(graph->config().node(1).stage().UnpackTo(&decode));
  ASSERT_TRUE(decode.extra().UnpackTo(&extra));
  EXPECT_EQ(extra.root(), "/d");
}

TEST(ExpandVariables, AnUnfilledOneIsFoundAtItsField) {
  const std::string text =
      "name: '${n}'\n" +
      Node("testing.ReadImages",
           "root: '${data}'\n extensions: ['a',\n '${e}'] extensions: '${f}'") +
      Node("testing.DecodeImage",
           "extra { [type.googleapis.com/penstock.testing.ReadImages] {\n  root: '${x}' } }",
           "random_key: '${k}'") +
      Tail();
  EXPECT_EQ(
      Faults(text),
      Lines({"g:1:1: name: ${n} has no value; give it with --var n=VALUE",
             "g:1:1: name is '${n}', expected letters, digits and underscores",
             "g:2:68: node 'read_images': root: ${data} has no value; give it with --data PATH",
             ("g:3:2: node 'read_images': extensions[1]: ${e} has no value; give it with --var "
              "e=VALUE"),
             ("g:3:2: node 'read_images': extensions[2]: ${f} has no value; give it with --var "
              "f=VALUE"),
             ("g:5:8: node 'decode_image': random_key: ${k} has no value; give it with --var "
              "k=VALUE"),
             ("g:6:3: node 'decode_image': extra.root: ${x} has no value; give it with --var "
              "x=VALUE")}));
}

TEST(ExpandVariables, AnUnusedOneIsNamed) {
  const std::string text = Node("testing.ReadImages", "root: '${data}/${split}'") + Tail();
  EXPECT_EQ(Faults(text, {{{"dta", "/d"}, {"data", "/d"}, {"split", "x"}}, {}}),
            "g: variable 'dta' is not used; the graph uses 'data', 'split'");
  EXPECT_EQ(
      Faults(text, {{{"dta", "/d"}, {"split", "x"}}, {}}),
      Lines({"g:1:68: node 'read_images': root: ${data} has no value; give it with --data PATH",
             "g: variable 'dta' is not used; the graph uses 'data', 'split'"}));
  EXPECT_EQ(Faults(Head() + Tail(), {{{"data", "/d"}}, {}}),
            "g: variable 'data' is not used; the graph uses none");
}

TEST(ExpandVariables, AValueHasToBeUtf8) {
  const std::string text = Node("testing.ReadImages", "root: '${data}'") + Tail();
  EXPECT_EQ(Faults(text, {{{"data", "/d\xff"}}, {}}),
            "g: the value of variable 'data' is not UTF-8");
}

}  // namespace
}  // namespace penstock
