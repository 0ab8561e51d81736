#include "penstock/graphs/validate.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/testing/graph_text.h"
#include "penstock/graphs/testing/stages.h"
#include "penstock/graphs/testing/stages.pb.h"
#include "penstock/stages/collate/collate.pb.h"
#include "penstock/stages/upload/upload.pb.h"

namespace penstock {
namespace {

using testing::Faults;
using testing::Head;
using testing::Lines;
using testing::Node;
using testing::Tail;

ValidGraph Valid(const std::string& text) {
  const auto graph = ParseGraph(text, "g", {}, testing::TestRegistry());
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  GraphErrors errors(*graph);
  ValidGraph valid = ValidateGraph(*graph, testing::TestRegistry(), errors);
  EXPECT_TRUE(errors.empty()) << errors.status();
  return valid;
}

// The same for a graph that was built in C++.
std::string FaultsOf(GraphConfig config) {
  const Graph graph(std::move(config));
  GraphErrors errors(graph);
  ValidateGraph(graph, testing::TestRegistry(), errors);
  return std::string(errors.status().message());
}

GraphConfig Built() {
  GraphConfig config;
  config.add_node()->mutable_stage()->PackFrom(testing::ReadImages());
  config.add_node()->mutable_stage()->PackFrom(Collate());
  config.add_node()->mutable_stage()->PackFrom(Upload());
  return config;
}

TEST(ValidateGraph, ResolvesNodesAndOutputs) {
  const ValidGraph valid =
      Valid(Head() + Node("testing.Resize", "shorter_edge: 3", "name: 'small' random_key: 'key'") +
            Node("Collate") + Node("testing.MixUp") + Node("Pin") + Node("Upload") +
            Node("testing.Resize", "", "name: 'again'") +
            Node("testing.DecodeImage", "", "input: 'small' name: 'side'") +
            Node("Collate", "", "name: 'other'") + Node("Upload", "", "name: 'up'"));
  ASSERT_EQ(valid.nodes.size(), 10u);
  EXPECT_EQ(valid.nodes[0].name, "read_images");
  EXPECT_EQ(valid.nodes[0].input, -1);
  EXPECT_EQ(valid.nodes[0].random_key, "read_images");
  EXPECT_EQ(valid.nodes[1].random_key, "key");
  EXPECT_EQ(valid.nodes[1].entry, testing::TestRegistry().Find("penstock.testing.Resize"));
  EXPECT_EQ(static_cast<const testing::Resize&>(*valid.nodes[1].options).shorter_edge(), 3);
  EXPECT_EQ(valid.nodes[7].input, 1);
  EXPECT_EQ(valid.outputs, (std::vector<std::vector<int>>{{0, 1, 2, 3, 4, 5, 6}, {0, 1, 7, 8, 9}}));
}

TEST(ValidateGraph, AWayPerSource) {
  const ValidGraph valid =
      Valid(Head() + Tail() + Node("testing.ReadImages", "", "name: 'b'") +
            Node("Collate", "batch_size: 1", "name: 'c'") + Node("Upload", "", "name: 'd'"));
  EXPECT_EQ(valid.outputs, (std::vector<std::vector<int>>{{0, 1, 2}, {3, 4, 5}}));
}

// A node may read from one that stands below it.
TEST(ValidateGraph, TheOrderOfTheTextIsFree) {
  const ValidGraph valid = Valid(Node("Upload", "", "input: 'collate'") +
                                 Node("Collate", "", "input: 'read_images'") + Head());
  EXPECT_EQ(valid.outputs, (std::vector<std::vector<int>>{{2, 1, 0}}));
}

// Case G01, in binary and from C++.
TEST(ValidateGraph, UnknownNumbersAreRefused) {
  GraphConfig config = Built();
  GraphConfig::GetReflection()->MutableUnknownFields(&config)->AddVarint(77, 1);
  auto& node = *config.mutable_node(1);
  NodeConfig::GetReflection()->MutableUnknownFields(&node)->AddVarint(78, 1);
  Collate collate;
  Collate::GetReflection()->MutableUnknownFields(&collate)->AddLengthDelimited(9, "x");
  node.mutable_stage()->PackFrom(collate);
  testing::DecodeImage decode;
  decode.mutable_extra()->PackFrom(collate);
  config.mutable_node(0)->mutable_stage()->PackFrom(decode);

  GraphConfig read;
  ASSERT_TRUE(read.ParseFromString(config.SerializeAsString()));
  const std::string newer = "; was this graph written for a newer version?";
  EXPECT_EQ(
      FaultsOf(read),
      Lines({"penstock.GraphConfig has no field number 77" + newer,
             "node 'decode_image', extra: penstock.Collate has no field number 9" + newer,
             "node 'collate': penstock.Collate has no field number 9" + newer,
             "node 'collate': penstock.NodeConfig has no field number 78" + newer,
             ("node 'decode_image': it has no input: it is the first node and no source; put a "
              "source above it or name its input")}));
}

TEST(ValidateGraph, UnknownNumbersOfEnumsAreRefused) {
  EXPECT_EQ(Faults("order { shuffle: 7 }\n" + Head() + Node("Collate", "tail: 3") + Node("Upload")),
            Lines({"g:1:9: order.shuffle is 7, expected NONE or FULL",
                   "g:3:57: node 'collate': tail is 3, expected PARTIAL or DROP"}));
}

TEST(ValidateGraph, BytesThatAreNoOptionsAreRefused) {
  EXPECT_EQ(
      Faults(Head() +
             "node { stage { type_url: 'type.googleapis.com/penstock.Collate' value: '\\377' } "
             "}\n" +
             Node("Upload")),
      "g:2:8: node 'collate': its bytes are no penstock.Collate (is a string in it not UTF-8?)");
}

TEST(ValidateGraph, AnyMessagesInEachOtherHaveALimit) {
  testing::DecodeImage decode;
  for (int i = 0; i < 200; ++i) {
    testing::DecodeImage outer;
    outer.mutable_extra()->PackFrom(decode);
    decode = outer;
  }
  GraphConfig config = Built();
  config.add_node()->mutable_stage()->PackFrom(decode);
  EXPECT_NE(FaultsOf(config).find("more than 64 levels of messages"), std::string::npos);
}

// Case G05.
TEST(ValidateGraph, AnUnknownInputIsNamedWithTheNearest) {
  EXPECT_EQ(Faults(Head() + Node("testing.DecodeImage", "", "name: 'images'") +
                   Node("testing.Resize", "", "name: 'resize' input: 'imgs'") + Tail()),
            "g:3:23: node 'resize': input 'imgs' is no node; did you mean 'images'?");
  EXPECT_EQ(Faults(Head() + Node("testing.Resize", "", "input: 'qqq'") + Tail()),
            "g:2:8: node 'resize': input 'qqq' is no node; there are read_images, collate, upload");
}

// Case G06.
TEST(ValidateGraph, CyclesAreListedInOrder) {
  EXPECT_EQ(Faults(Head() + Node("testing.Resize", "", "name: 'b' input: 'a'") +
                   Node("testing.Resize", "", "name: 'c' input: 'b'") +
                   Node("testing.Resize", "", "name: 'a' input: 'c'") + Tail()),
            "g:2:18: node 'b': the nodes go in a cycle: b -> c -> a -> b; one of them has to read "
            "from another node");
  EXPECT_EQ(
      Faults(Head() + Node("testing.Resize", "", "name: 'a' input: 'a'") +
             Node("testing.Resize", "", "name: 'x' input: 'y'") +
             Node("testing.Resize", "", "name: 'y' input: 'x'")),
      Lines({("g:2:18: node 'a': the nodes go in a cycle: a -> a; one of them has to read from "
              "another node"),
             ("g:3:18: node 'x': the nodes go in a cycle: x -> y -> x; one of them has to read "
              "from another node")}));
  // The way that leads out of it is met first.
  EXPECT_EQ(
      Faults(Node("Upload", "", "input: 'b'") + Node("testing.Resize", "", "name: 'a' input: 'b'") +
             Node("testing.Resize", "", "name: 'b'")),
      "g:2:18: node 'a': the nodes go in a cycle: a -> b -> a; one of them has to read from "
      "another node");
}

// Case G08.
TEST(ValidateGraph, InputsAreCounted) {
  EXPECT_EQ(Faults(Head() + Node("Collate", "", "input: 'read_images' input: 'read_images'") +
                   Node("Upload")),
            "g:2:8: node 'collate': it takes one input, but has 2");
  EXPECT_EQ(
      Faults(Head() + Tail() + Node("testing.ReadImages", "", "name: 'more' input: 'read_images'") +
             Node("Collate", "", "name: 'c'") + Node("Upload", "", "name: 'd'")),
      "g:4:21: node 'more': it is a source and takes no input");
  EXPECT_EQ(
      Faults(Node("testing.Resize") + Tail()),
      "g:1:1: node 'resize': it has no input: it is the first node and no source; put a source "
      "above it or name its input");
  EXPECT_EQ(Faults(Head() + Node("Collate", "", "input: ['read_images', 'x', 'colate']") +
                   Node("Upload")),
            Lines({"g:2:8: node 'collate': it takes one input, but has 3",
                   "g:2:8: node 'collate': input 'x' is no node; there are read_images, upload",
                   ("g:2:8: node 'collate': input 'colate' is no node; there are read_images, "
                    "upload")}));
}

// Case G09.
TEST(ValidateGraph, NamesOccurOnce) {
  EXPECT_EQ(Faults(Head() + Node("testing.DecodeImage", "", "name: 'decode'") +
                   Node("testing.Resize", "", "name: 'decode'") + Tail()),
            "g:3:8: node 'decode': the node at g:2:1 has this name too; give one of them another");
  EXPECT_EQ(Faults(Head() + Node("testing.Resize") + Node("testing.Resize") +
                   Node("testing.Resize") + Tail()),
            Lines({("g:3:1: node 'resize': the node at g:2:1 has this name too; give one of them "
                    "another"),
                   ("g:4:1: node 'resize': the node at g:2:1 has this name too; give one of them "
                    "another")}));
  GraphConfig config = Built();
  config.mutable_node(2)->set_name("collate");
  EXPECT_EQ(FaultsOf(config),
            "node 'collate', name: the node number 2 has this name too; give one of them another");
}

TEST(ValidateGraph, NamesHaveAForm) {
  EXPECT_EQ(Faults(Head() + Node("Collate", "", "name: 'a.b'") + Node("Upload", "", "name: ''")),
            Lines({("g:2:8: node 'a.b': the name does not match [a-z][a-z0-9_]*: '.' is what --set "
                    "puts between a node and its fields"),
                   "g:3:8: node: the name does not match [a-z][a-z0-9_]*: it is empty"}));
  EXPECT_EQ(Faults("name: 'my graph'\n" + Head() + Tail()),
            "g:1:1: name is 'my graph', expected letters, digits and underscores");
}

// Case G10.
TEST(ValidateGraph, BatchesInFlightHasARange) {
  for (const int wrong : {0, 1, -1, 1025}) {
    EXPECT_EQ(Faults(absl::StrCat("batches_in_flight: ", wrong, "\n", Head(), Tail())),
              absl::StrCat("g:1:1: batches_in_flight is ", wrong, ", expected 2 to 1024"));
    GraphConfig config = Built();
    config.set_batches_in_flight(wrong);
    EXPECT_EQ(FaultsOf(config),
              absl::StrCat("batches_in_flight is ", wrong, ", expected 2 to 1024"));
  }
  for (const int right : {2, 1024}) {
    EXPECT_EQ(Faults(absl::StrCat("batches_in_flight: ", right, "\n", Head(), Tail())), "");
  }
}

TEST(ValidateGraph, FormatIsOne) {
  EXPECT_EQ(Faults("format: 1\n" + Head() + Tail()), "");
  EXPECT_EQ(Faults("format: 2\n" + Head() + Tail()),
            "g:1:1: format is 2, expected 1; was this graph written for a newer version?");
  EXPECT_EQ(Faults("format: 0\n" + Head() + Tail()),
            "g:1:1: format is 0, expected 1; was this graph written for a newer version?");
}

TEST(ValidateGraph, AGraphHasNodes) {
  EXPECT_EQ(Faults(""), "g: the graph has no node, expected a source first");
  EXPECT_EQ(FaultsOf({}), "the graph has no node, expected a source first");
}

TEST(ValidateGraph, CollateComesFirst) {
  EXPECT_EQ(Faults(Head() + Node("Pin") + Node("Upload")),
            "g:2:1: node 'pin': Pin needs Collate before it");
  EXPECT_EQ(Faults(Head() + Node("Upload")),
            "g:2:1: node 'upload': Upload needs Collate before it");
  EXPECT_EQ(Faults(Head() + Node("testing.MixUp") + Node("Upload")),
            "g:2:1: node 'mix_up': it works on batches and needs Collate before it");
}

TEST(ValidateGraph, EachRoleHasItsPlace) {
  const std::string samples =
      "it works on samples and cannot stand between Collate and Upload; move it before Collate, or "
      "behind Upload";
  EXPECT_EQ(Faults(Head() + Node("Collate") + Node("testing.Resize") + Node("Upload")),
            "g:3:1: node 'resize': " + samples);
  EXPECT_EQ(Faults(Head() + Node("Collate") + Node("Pin") + Node("testing.Resize") +
                   Node("testing.MixUp") + Node("Pin", "", "name: 'p'") + Node("Upload")),
            Lines({"g:4:1: node 'resize': " + samples,
                   "g:5:1: node 'mix_up': it works on batches and belongs between Collate and Pin",
                   "g:6:1: node 'p': a second Pin; one is enough"}));
  EXPECT_EQ(
      Faults(Head() + Node("Collate") + Node("Collate", "", "name: 'c'") + Node("Upload") +
             Node("Collate", "", "name: 'd'") + Node("testing.MixUp") + Node("Pin") +
             Node("Upload", "", "name: 'u'") + Node("testing.Resize")),
      Lines({"g:3:1: node 'c': a second Collate; samples are collated once",
             "g:5:1: node 'd': a second Collate, behind Upload; samples are collated once",
             ("g:6:1: node 'mix_up': it works on batches on the host and belongs between "
              "Collate and Upload"),
             "g:7:1: node 'pin': Pin stands behind Upload; move it between Collate and Upload",
             "g:8:1: node 'u': a second Upload; a batch goes up once"}));
}

TEST(ValidateGraph, AWayLeadsToTheDevice) {
  EXPECT_EQ(Faults(Head()),
            "g:1:1: node 'read_images': the flow ends here without Collate and Upload; put both "
            "behind it");
  EXPECT_EQ(Faults(Head() + Node("Collate") + Node("Pin")),
            "g:3:1: node 'pin': the flow ends here without Upload; put it behind");
}

// What nodes behind a fork share is reported once, and each end by itself.
TEST(ValidateGraph, WaysThatForkAreCheckedOnce) {
  EXPECT_EQ(Faults(Head() + Node("Pin") + Node("Collate", "", "name: 'a' input: 'pin'") +
                   Node("Collate", "", "name: 'b' input: 'pin'")),
            Lines({"g:2:1: node 'pin': Pin needs Collate before it",
                   "g:3:1: node 'a': a second Collate; samples are collated once",
                   "g:3:1: node 'a': the flow ends here without Upload; put it behind",
                   "g:4:1: node 'b': a second Collate; samples are collated once",
                   "g:4:1: node 'b': the flow ends here without Upload; put it behind"}));
}

}  // namespace
}  // namespace penstock
