#include "penstock/graphs/names.h"

#include <string>

#include "gtest/gtest.h"
#include "penstock/graphs/testing/stages.pb.h"

namespace penstock {
namespace {

TEST(DefaultNodeName, IsTheMessagesNameInSnakeCase) {
  EXPECT_EQ(DefaultNodeName("penstock.ReadCifar10"), "read_cifar10");
  EXPECT_EQ(DefaultNodeName("penstock.DecodeImage"), "decode_image");
  EXPECT_EQ(DefaultNodeName("penstock.RandomResizedCrop"), "random_resized_crop");
  EXPECT_EQ(DefaultNodeName("Upload"), "upload");
}

TEST(DefaultNodeName, KeepsAbbreviationsAndNumbersTogether) {
  EXPECT_EQ(DefaultNodeName("my.HTTPRead"), "http_read");
  EXPECT_EQ(DefaultNodeName("my.ReadTFRecord"), "read_tf_record");
  EXPECT_EQ(DefaultNodeName("my.Blur2D"), "blur2d");
  EXPECT_EQ(DefaultNodeName("my.Cifar10Reader"), "cifar10_reader");
  EXPECT_EQ(DefaultNodeName("my.ABTest"), "ab_test");
  EXPECT_EQ(DefaultNodeName("my.ReadA"), "read_a");
  EXPECT_EQ(DefaultNodeName("my.Outer.Inner_Part"), "inner_part");
  EXPECT_EQ(DefaultNodeName(""), "");
}

TEST(NodeName, IsTheExplicitOneIfThereIsOne) {
  NodeConfig node;
  EXPECT_EQ(NodeName(node), "");
  node.mutable_stage()->set_type_url("type.googleapis.com/penstock.DecodeImage");
  EXPECT_EQ(NodeName(node), "decode_image");
  node.set_name("decode");
  EXPECT_EQ(NodeName(node), "decode");
}

TEST(NodeNameProblem, SaysWhatCharactersAreKeptFor) {
  for (const char* good : {"a", "decode", "decode_2", "a__b_"}) {
    EXPECT_EQ(NodeNameProblem(good), "") << good;
  }
  EXPECT_EQ(NodeNameProblem(""), "it is empty");
  EXPECT_EQ(NodeNameProblem("a:b"), "':' is kept for ports");
  EXPECT_EQ(NodeNameProblem("a/b"), "'/' is kept for graphs inside graphs");
  EXPECT_EQ(NodeNameProblem("a.b"), "'.' is what --set puts between a node and its fields");
  EXPECT_EQ(NodeNameProblem("Decode"), "capitals are for stages");
  EXPECT_EQ(NodeNameProblem("my-node"), "only a-z, 0-9 and _ are allowed");
  EXPECT_EQ(NodeNameProblem("2nd"), "it has to begin with a letter");
  EXPECT_EQ(NodeNameProblem("_x"), "it has to begin with a letter");
}

TEST(Hint, NamesTheNearestElseAll) {
  EXPECT_EQ(Hint("imgs", {"images", "labels"}, "there are"), "; did you mean 'images'?");
  EXPECT_EQ(Hint("xyz", {"images", "labels"}, "there are"), "; there are images, labels");
  EXPECT_EQ(Hint("xyz", {}, "there are"), "");
}

TEST(NoSuchField, NamesTheNearestElseAll) {
  const auto& type = *testing::Resize::Size::descriptor();
  EXPECT_EQ(NoSuchField(type, "heigth"),
            "penstock.testing.Resize.Size has no field 'heigth'; did you mean 'height'?");
  EXPECT_EQ(NoSuchField(type, "q"),
            "penstock.testing.Resize.Size has no field 'q'; its fields are height, width");
}

TEST(NoSuchValue, LeavesOutTheUnspecifiedValue) {
  const auto& field = *testing::ReadImages::descriptor()->FindFieldByName("split");
  EXPECT_EQ(NoSuchValue(field, "TRIAN"),
            "split is 'TRIAN', expected TRAIN or TEST; did you mean 'TRAIN'?");
  EXPECT_EQ(NoSuchValue(field, "7"), "split is '7', expected TRAIN or TEST");
}

}  // namespace
}  // namespace penstock
