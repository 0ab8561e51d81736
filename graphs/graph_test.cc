// What is wrong with a text, word by word, and what is right about it.
#include "penstock/graphs/graph.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

constexpr char kKnownStages[] =
    " Known stages: penstock.Collate, penstock.Pin, penstock.Upload, penstock.testing.DecodeImage, "
    "penstock.testing.MixUp, penstock.testing.ReadImages, penstock.testing.Resize. A stage of your "
    "own: its target has to be in deps, with alwayslink = True";

// Case G01, in text.
TEST(ParseGraph, AnUnknownFieldIsNamedWithTheNearest) {
  EXPECT_EQ(Faults(Head() + Node("Collate", "btach_size: 8") + Node("Upload")),
            "g:2:57: node 'collate': penstock.Collate has no field 'btach_size'; did you mean "
            "'batch_size'?");
}

TEST(ParseGraph, AllUnknownFieldsAreFound) {
  EXPECT_EQ(
      Faults("nmae: 'x'\n" + Head() +
             Node("testing.Resize", "size { heigth: 3 } q { x: [1, 2] }", "nam: 'a'") +
             "ordr # a comment\n : { shuffle: FULL }\norder { shufle: NONE }\n" + Tail()),
      Lines({
          "g:1:1: penstock.GraphConfig has no field 'nmae'; did you mean 'name'?",
          "g:3:8: node 'resize': penstock.NodeConfig has no field 'nam'; did you mean 'name'?",
          ("g:3:80: node 'resize': penstock.testing.Resize.Size has no field 'heigth'; did you "
           "mean 'height'?"),
          ("g:3:92: node 'resize': penstock.testing.Resize has no field 'q'; its fields are "
           "shorter_edge, size, scale, steps, field, crop"),
          "g:4:1: penstock.GraphConfig has no field 'ordr'; did you mean 'order'?",
          "g:6:9: penstock.Order has no field 'shufle'; did you mean 'shuffle'?",
      }));
}

TEST(ParseGraph, FaultsOfTextFormAndVariablesComeTogetherInTheOrderOfTheText) {
  EXPECT_EQ(
      Faults("batches_in_flight: 1\n" + Node("testing.ReadImages", "root: '${data}'") +
             Node("Collate", "btach_size: 8") + Node("Uplod") +
             Node("testing.Resize", "", "input: 'colate'")),
      Lines({
          "g:1:1: batches_in_flight is 1, expected 2 to 1024",
          "g:2:68: node 'read_images': root: ${data} has no value; give it with --data PATH",
          ("g:3:57: node 'collate': penstock.Collate has no field 'btach_size'; did you mean "
           "'batch_size'?"),
          absl::StrCat("g:4:8: node 'uplod': there is no stage 'penstock.Uplod'; did you mean "
                       "'penstock.Upload'?",
                       kKnownStages),
          "g:5:8: node 'resize': input 'colate' is no node; did you mean 'collate'?",
      }));
}

// A part that was skipped may have been what the rest needs: only what is sure is said.
TEST(ParseGraph, ASkippedNodeIsNotReportedAsMissing) {
  EXPECT_EQ(Faults(Head() + "nodee { stage { [type.googleapis.com/penstock.Collate] { } } }\n" +
                   Node("Upload")),
            "g:2:1: penstock.GraphConfig has no field 'nodee'; did you mean 'node'?");
}

// Case G04.
TEST(ParseGraph, AnUnknownStageIsNamedWithTheNearestAndTheKnownOnes) {
  EXPECT_EQ(
      Faults(Head() + Node("testing.DecodeJpg", "device: HOST size { a: 1 }") + Tail()),
      absl::StrCat("g:2:8: node 'decode_jpg': there is no stage 'penstock.testing.DecodeJpg'; "
                   "did you mean 'penstock.testing.DecodeImage'?",
                   kKnownStages));
  EXPECT_EQ(Faults(Head() + Node("Zzzzzzzzzzzz", "", "name: 'mine'") + Tail()),
            absl::StrCat("g:2:21: node 'mine': there is no stage 'penstock.Zzzzzzzzzzzz'.",
                         kKnownStages));
}

// It is linked in, but no stage.
TEST(ParseGraph, AMessageThatIsNoStageIsUnknown) {
  EXPECT_TRUE(absl::StartsWith(
      Faults(Head() + Node("testing.Resize.Size", "height: 3") + Tail()),
      "g:2:8: node 'size': there is no stage 'penstock.testing.Resize.Size'; did you mean"));
}

TEST(ParseGraph, AStageNeedsItsPrefix) {
  EXPECT_EQ(Faults(Head() + "node { stage { [penstock.Pin] { } } }\n"),
            "g:2:16: 'penstock.Pin' lacks its prefix, expected [type.googleapis.com/penstock.Pin]");
  EXPECT_EQ(
      Faults(Head() + Node("Collate") +
             "node { stage { [example.com/penstock.Pin] { mode: PINNED } } }\n" + Node("Upload")),
      "g:3:8: node 'pin': [example.com/penstock.Pin] has another prefix, expected "
      "[type.googleapis.com/penstock.Pin]");
}

TEST(ParseGraph, ANodeHasOneStage) {
  EXPECT_EQ(Faults(Head() + "node { stage { [type.googleapis.com/penstock.Pin] { mode: PINNED } "
                            "[type.googleapis.com/penstock.Upload] { } } }\n"),
            "g:2:68: a second stage in one node; give it a node of its own");
  EXPECT_EQ(Faults("node { stage { [type.googleapis.com/penstock.Pin] { } }\n"
                   "  stage { [type.googleapis.com/penstock.Upload] { } } }"),
            "g:2:3: a second stage in one node; give it a node of its own");
  EXPECT_EQ(
      Faults("node { [type.googleapis.com/penstock.Pin] { } }"),
      "g:1:8: a stage belongs into the field 'stage': stage { [type.googleapis.com/...] { } }");
  EXPECT_EQ(
      Faults(Head() + "node { name: 'x' }\nnode { stage { } }\n" + Tail()),
      Lines({("g:2:1: node 'x': it has no stage, expected stage { [type.googleapis.com/...] { } "
              "}"),
             "g:3:1: node: it has no stage, expected stage { [type.googleapis.com/...] { } }"}));
}

TEST(ParseGraph, TypesInsideOptionsAreCheckedToo) {
  EXPECT_EQ(
      Faults(Head() +
             Node("testing.DecodeImage",
                  "extra { [type.googleapis.com/my.Thing] { a: 1 } }\n"
                  "more { [x.com/penstock.Pin] { } } more { [type.googleapis.com/penstock.Pin] "
                  "{ mod: 1 } }") +
             Tail()),
      Lines({"g:2:69: node 'decode_image': there is no message 'my.Thing'",
             ("g:3:1: node 'decode_image': [x.com/penstock.Pin] has another prefix, expected "
              "[type.googleapis.com/penstock.Pin]"),
             ("g:3:79: node 'decode_image': penstock.Pin has no field 'mod'; did you mean "
              "'mode'?")}));
}

// Case G11.
TEST(ParseGraph, NumbersHaveARange) {
  EXPECT_EQ(Faults("batches_in_flight: -1\n" + Head() + Tail()),
            "g:1:1: batches_in_flight is -1, expected 2 to 1024");
  EXPECT_EQ(Faults("batches_in_flight: 4294967295\n"),
            "g:1:20: batches_in_flight is 4294967295, expected an integer from 2 to 1024");
  EXPECT_EQ(Faults("batches_in_flight: -4294967295\n"),
            "g:1:21: batches_in_flight is -4294967295, expected an integer from 2 to 1024");
  EXPECT_EQ(Faults("batches_in_flight: \"4\"\n"),
            "g:1:20: batches_in_flight is \"4\", expected an integer from 2 to 1024");
  EXPECT_EQ(Faults("batches_in_flight: 4.5\n"),
            "g:1:20: batches_in_flight is 4.5, expected an integer from 2 to 1024");
  EXPECT_EQ(Faults("seed: -1"),
            "g:1:7: seed is -1, expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(Faults(Node("Collate", "batch_size: 10000000000000000000")),
            "g:1:69: batch_size is 10000000000000000000, expected an integer from "
            "-9223372036854775808 to 9223372036854775807");
}

// --set knows units, text format does not.
TEST(ParseGraph, ANumberWithAUnitIsToBeWrittenInDigits) {
  const std::string wide = ", expected an integer from -9223372036854775808 to 9223372036854775807";
  EXPECT_EQ(Faults(Node("Collate", "batch_size: 5GiB tail: DROP")),
            absl::StrCat("g:1:69: batch_size is 5GiB", wide, "; write 5368709120"));
  EXPECT_EQ(Faults(Node("Collate", "batch_size: 5Gi")),
            absl::StrCat("g:1:69: batch_size is 5Gi", wide));
  EXPECT_EQ(Faults("batches_in_flight: 5GiB"),
            "g:1:20: batches_in_flight is 5GiB, expected an integer from 2 to 1024");
  EXPECT_EQ(Faults("batches_in_flight: 1KiB"),
            "g:1:20: batches_in_flight is 1KiB, expected an integer from 2 to 1024; write 1024");
  EXPECT_EQ(Faults("batches_in_flight: 2KiB"),
            "g:1:20: batches_in_flight is 2KiB, expected an integer from 2 to 1024");
  EXPECT_EQ(Faults(Node("Collate", "batch_size: -5GiB")),
            absl::StrCat("g:1:70: batch_size is -5GiB", wide));
  EXPECT_EQ(Faults(Node("Collate", "batch_size: 010KiB")),
            absl::StrCat("g:1:69: batch_size is 010KiB", wide));
}

TEST(ParseGraph, OtherValuesHaveATypeToo) {
  EXPECT_EQ(Faults(Node("Collate", "tail: DORP")),
            "g:1:63: tail is 'DORP', expected PARTIAL or DROP; did you mean 'DROP'?");
  EXPECT_EQ(Faults("order { shuffle: YES }"), "g:1:18: shuffle is 'YES', expected NONE or FULL");
  EXPECT_EQ(Faults(Node("testing.DecodeImage", "fast: maybe")),
            "g:1:75: fast is 'maybe', expected true or false");
  EXPECT_EQ(Faults("name: 3"), "g:1:7: name: expected string, got: 3");
  EXPECT_EQ(Faults(Node("testing.Resize", "scale: [1, x]")),
            "g:1:75: scale: expected double, got: x");
  EXPECT_EQ(Faults(Node("testing.Resize", "shorter_edge: 3 size { }")),
            "g:1:80: 'size' and 'shorter_edge' exclude each other");
}

TEST(ParseGraph, AFieldThatIsNoListIsSetOnce) {
  EXPECT_EQ(Faults("seed: 1\nseed: 1\n"), "g:2:1: 'seed' is set twice");
  EXPECT_EQ(Faults(Node("Collate", "batch_size: 1 tail: DROP batch_size: 1")),
            "g:1:82: 'batch_size' is set twice");
}

TEST(ParseGraph, SyntaxIsExplained) {
  EXPECT_EQ(Faults("node {\n"), "g:2:1: the text ends, but a '}' is missing");
  EXPECT_EQ(Faults("}"), "g:1:1: expected identifier, got: }");
  EXPECT_EQ(Faults("seed 3"), "g:1:6: expected ':', found '3'");
  EXPECT_EQ(Faults("seed:"), "g:1:6: seed has no value");
  EXPECT_EQ(Faults("name: 'abc\n"), "g:1:11: string literals cannot cross line boundaries");
  EXPECT_EQ(Faults("seed: 1x"),
            "g:1:7: seed is 1x, expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(Faults("[foo.bar]: 3\n"), "g:1:1: there is no extension 'foo.bar'");
  EXPECT_EQ(Faults(Node("Collate", "shape: [1 2]")), "g:1:67: expected ',', found '2'");
}

// A token error ends the list, but what stands above it is in it.
TEST(ParseGraph, FaultsAboveATokenErrorAreReported) {
  EXPECT_EQ(
      Faults(Node("Collate", "btach_size: 8") + Node("testing.DecodeJpg") +
             "node { name: 'x' input: }\nnmae: 3"),
      Lines({("g:1:57: node 'collate': penstock.Collate has no field 'btach_size'; did you mean "
              "'batch_size'?"),
             absl::StrCat("g:2:8: node 'decode_jpg': there is no stage "
                          "'penstock.testing.DecodeJpg'; did you mean "
                          "'penstock.testing.DecodeImage'?",
                          kKnownStages),
             "g:3:25: input: expected string, got: }"}));
}

TEST(ParseGraph, WhatIsNoTextIsRefused) {
  EXPECT_EQ(Faults("seed: 3\nname: 'a\xff'"), "g:2:9: not UTF-8; a graph is text");
  EXPECT_EQ(Faults("seed: 3\nname: 'a\\xff'"), "g:2:7: name is not UTF-8");
  EXPECT_EQ(Faults(Node("testing.ReadImages", "salt: '\\xff' root: '\\377'")),
            "g:1:87: root is not UTF-8");  // Bytes may be anything.
  EXPECT_EQ(Faults(std::string((16 << 20) + 1, ' ')), "g:1:1: larger than 16 MiB; no graph is");
  EXPECT_EQ(Faults(std::string("seed: 3\0", 8)),
            "g:1:8: invalid control characters encountered in text");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "unknown { ";
  EXPECT_NE(Faults(deep), "");
}

// Case G02: what the specification of the text format allows.
TEST(ParseGraph, TakesAllOfTheTextFormat) {
  const std::string text = R"(# A comment.
    name: "two"  # Strings in parts are joined,
          '_parts';
    batches_in_flight: 0x10, seed: 7;
    order < shuffle: FULL >,
    node: [{ stage: { [type.googleapis.com/penstock.testing.ReadImages] < root: "a" "b"
                                                                          'c' > } },
           { stage { [type.googleapis.com/penstock.testing.Resize]: {
               scale: [0.5, 1e-3, 2f], size: { height: 3; width: 4, } } } }]
    node { stage { type_url: "type.googleapis.com/penstock.Collate" value: "\010\010" } }
  )" + Node("Upload");
  ASSERT_EQ(Faults(text), "");
  const auto graph = ParseGraph(text, "g", {}, testing::TestRegistry());
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->config().name(), "two_parts");
  EXPECT_EQ(graph->config().batches_in_flight(), 16);
  ASSERT_EQ(graph->config().node_size(), 4);
  testing::ReadImages source;
  ASSERT_TRUE(graph->config().node(0).stage().UnpackTo(&source));
  EXPECT_EQ(source.root(), "abc");
  testing::Resize resize;
  ASSERT_TRUE(graph->config().node(1).stage().UnpackTo(&resize));
  EXPECT_EQ(resize.scale_size(), 3);
  EXPECT_EQ(resize.size().width(), 4);
}

// Old graphs load for ever: their fields may have become deprecated or reserved since.
TEST(ParseGraph, TakesFieldsThatAreOld) {
  EXPECT_EQ(Faults(Head() + Node("testing.DecodeImage", "old: 'x' gone: 3") + Tail()), "");
}

}  // namespace
}  // namespace penstock
