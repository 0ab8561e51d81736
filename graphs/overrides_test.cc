#include "penstock/graphs/overrides.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/testing/graph_text.h"
#include "penstock/graphs/testing/stages.h"
#include "penstock/graphs/testing/stages.pb.h"
#include "penstock/stages/collate/collate.pb.h"

namespace penstock {
namespace {

using testing::Faults;
using testing::Head;
using testing::Lines;
using testing::Node;
using testing::Tail;

constexpr char kForm[] = "expected node.field=value or, for the graph itself, field=value";

std::string Text() {
  return Node("testing.ReadImages", "root: '/a' extensions: ['.a', '.b']") +
         Node("testing.DecodeImage", "", "name: 'decode'") +
         Node("testing.Resize", "shorter_edge: 5 scale: [1, 2]") + Tail();
}

class OverridesTest : public ::testing::Test {
 protected:
  GraphConfig With(const std::vector<std::string>& overrides) {
    const auto graph = ParseGraph(Text(), "g", {{}, overrides}, testing::TestRegistry());
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph.ok() ? graph->config() : GraphConfig();
  }
  // The options of node number `node` after `override`.
  template <class Options>
  Options Get(int node, const std::string& override) {
    Options options;
    const GraphConfig config = With({override});
    EXPECT_TRUE(config.node_size() > node && config.node(node).stage().UnpackTo(&options));
    return options;
  }
  std::string Root(const std::string& value) {
    return Get<testing::ReadImages>(0, "read_images.root=" + value).root();
  }
  std::string Extensions(const std::string& value) {
    std::string all;
    const auto options = Get<testing::ReadImages>(0, "read_images.extensions=" + value);
    for (const std::string& one : options.extensions()) absl::StrAppend(&all, "<", one, ">");
    return all;
  }
  // What is said about `override`, without its own text.
  std::string Fault(const std::string& override) {
    const std::string prefix = absl::StrCat("--set ", override, ": ");
    const std::string fault = Faults(Text(), {{}, {override}});
    EXPECT_EQ(fault.substr(0, prefix.size()), prefix);
    return fault.substr(std::min(fault.size(), prefix.size()));
  }
};

TEST_F(OverridesTest, SetsFieldsOfTheGraph) {
  const GraphConfig config = With(
      {"batches_in_flight=6", "order.shuffle=FULL", "seed=18446744073709551615", "name=other"});
  EXPECT_EQ(config.batches_in_flight(), 6);
  EXPECT_EQ(config.order().shuffle(), Order::FULL);
  EXPECT_EQ(config.seed(), 18446744073709551615u);
  EXPECT_EQ(config.name(), "other");
}

TEST_F(OverridesTest, FindsNodesByExplicitAndDefaultName) {
  EXPECT_TRUE(Get<testing::DecodeImage>(1, "decode.fast=true").fast());
  EXPECT_EQ(Get<Collate>(3, "collate.batch_size=3").batch_size(), 3);
  EXPECT_EQ(Get<Collate>(3, " collate.batch_size =  0x10 ").batch_size(), 16);
  EXPECT_EQ(Get<Collate>(3, "collate.tail=DROP").tail(), Collate::DROP);
  EXPECT_EQ(Get<Collate>(3, "collate.tail=2").tail(), Collate::DROP);
}

TEST_F(OverridesTest, GoesIntoMessagesAndOneofs) {
  const auto resize = Get<testing::Resize>(2, "resize.size.height=7");
  EXPECT_EQ(resize.target_case(), testing::Resize::kSize);
  EXPECT_EQ(resize.size().height(), 7);
  EXPECT_FALSE(resize.size().has_width());
  EXPECT_EQ(Get<testing::Resize>(2, "resize.size={height: 3 width: 4}").size().width(), 4);
  EXPECT_EQ(Get<testing::Resize>(2, "resize.size={}").target_case(), testing::Resize::kSize);
}

TEST_F(OverridesTest, AListIsReplacedAsAWhole) {
  EXPECT_EQ(Get<testing::Resize>(2, "resize.scale=[3, 4,5]").scale_size(), 3);
  EXPECT_EQ(Get<testing::Resize>(2, "resize.scale=0.5").scale_size(), 1);
  EXPECT_EQ(Get<testing::Resize>(2, "resize.scale=[]").scale_size(), 0);
  EXPECT_EQ(Get<testing::Resize>(2, "resize.steps=[{height: 3}, {width: 4}]").steps_size(), 2);
  EXPECT_EQ(Get<testing::Resize>(2, "resize.shorter_edge=0").target_case(),
            testing::Resize::kShorterEdge);
}

TEST_F(OverridesTest, StringsNeedNoQuotes) {
  EXPECT_EQ(Root("/x y/z"), "/x y/z");
  EXPECT_EQ(Root("\"/x\\ty\""), "/x\ty");
  EXPECT_EQ(Root("'/x'"), "/x");
  EXPECT_EQ(Root("/a=b\\n"), "/a=b\\n");
  EXPECT_EQ(Root("/it's \"quoted\""), "/it's \"quoted\"");
  EXPECT_EQ(Root("caf\u00e9"), "caf\u00e9");
  EXPECT_EQ(Root(""), "");
  EXPECT_EQ(Root("${data} $$"), "${data} $$");  // Variables were filled in before.
  EXPECT_EQ(Root("[x]"), "[x]");
  EXPECT_EQ(Extensions("[.jpg, .png]"), "<.jpg><.png>");
  EXPECT_EQ(Extensions("['a,b', \"c\"]"), "<a,b><c>");
  EXPECT_EQ(Extensions(".jpg"), "<.jpg>");
  EXPECT_EQ(Extensions("[]"), "");
}

TEST_F(OverridesTest, ALaterOneWins) {
  EXPECT_EQ(With({"batches_in_flight=6", "batches_in_flight=7"}).batches_in_flight(), 7);
}

TEST_F(OverridesTest, ANodeWinsOverAFieldOfTheGraph) {
  const std::string text = Head() + Node("testing.Resize", "", "name: 'order'") + Tail();
  const auto graph = ParseGraph(text, "g", {{}, {"order.shorter_edge=3"}}, testing::TestRegistry());
  ASSERT_TRUE(graph.ok()) << graph.status();
  testing::Resize resize;
  ASSERT_TRUE(graph->config().node(1).stage().UnpackTo(&resize));
  EXPECT_EQ(resize.shorter_edge(), 3);
}

TEST_F(OverridesTest, UnknownPartsAreNamedWithTheNearest) {
  EXPECT_EQ(Fault("colate.batch_size=3"),
            "there is no node or field 'colate'; did you mean 'collate'?");
  EXPECT_EQ(Fault("batches_in_fligth=3"),
            "there is no node or field 'batches_in_fligth'; did you mean 'batches_in_flight'?");
  EXPECT_EQ(
      Fault("q.x=3"),
      "there is no node or field 'q'; there are read_images, decode, resize, collate, upload, "
      "format, name, order, batches_in_flight, seed");
  EXPECT_EQ(Fault("collate.btach_size=3"),
            "penstock.Collate has no field 'btach_size'; did you mean 'batch_size'?");
  EXPECT_EQ(Fault("resize.size.heigth=3"),
            "penstock.testing.Resize.Size has no field 'heigth'; did you mean 'height'?");
  EXPECT_EQ(Fault("resize.size={heigth: 3}"),
            "penstock.testing.Resize.Size has no field 'heigth'; did you mean 'height'?");
  EXPECT_EQ(Fault("order.shufle=FULL"),
            "penstock.Order has no field 'shufle'; did you mean 'shuffle'?");
}

TEST_F(OverridesTest, FormIsExplained) {
  EXPECT_EQ(Fault("collate.batch_size"), kForm);
  EXPECT_EQ(Fault("collate"), kForm);
  EXPECT_EQ(Fault("=3"), kForm);
  EXPECT_EQ(Fault("collate..batch_size=3"), kForm);
  EXPECT_EQ(Fault("collate=3"), absl::StrCat("'collate' is a node; ", kForm));
  EXPECT_EQ(Fault("node=3"), "nodes are set one field at a time");
  EXPECT_EQ(Fault("resize.steps.height=3"), "'steps' is a list; set it as a whole: steps=[...]");
  EXPECT_EQ(Fault("resize.shorter_edge.x=3"),
            "'shorter_edge' is a single value; there is no 'x' in it");
}

TEST_F(OverridesTest, ValuesAreChecked) {
  EXPECT_EQ(Fault("collate.tail=DORP"),
            "tail is 'DORP', expected PARTIAL or DROP; did you mean 'DROP'?");
  EXPECT_EQ(Fault("batches_in_flight=x"),
            "batches_in_flight is x, expected an integer from 2 to 1024");
  EXPECT_EQ(Fault("batches_in_flight=99999999999"),
            "batches_in_flight is 99999999999, expected an integer from 2 to 1024");
  EXPECT_EQ(Fault("decode.fast=2"), "fast is '2', expected true or false");
  EXPECT_EQ(Fault("collate.batch_size="), "batch_size has no value");
  EXPECT_EQ(Fault("read_images.root='a"), "root: unexpected end of string");
  EXPECT_EQ(Fault("read_images.root=\xff"), "the value is not UTF-8");
}

TEST_F(OverridesTest, AnIntegerMayBeBytesWithAUnit) {
  EXPECT_EQ(Get<testing::ReadImages>(0, "read_images.limit=5GiB").limit(), 5368709120);
  EXPECT_EQ(Get<testing::ReadImages>(0, "read_images.limit= 3MB ").limit(), 3000000);
  EXPECT_EQ(With({"seed=2TiB"}).seed(), 2199023255552u);
  EXPECT_EQ(Get<Collate>(3, "collate.batch_size=010").batch_size(), 8);  // As in text format.
  EXPECT_EQ(Root("5GiB"), "5GiB");
  EXPECT_EQ(Fault("batches_in_flight=5GiB"),
            "batches_in_flight is 5GiB, expected an integer from 2 to 1024");
  const std::string wide = ", expected an integer from -9223372036854775808 to 9223372036854775807";
  EXPECT_EQ(Fault("collate.batch_size=5Gi"),
            absl::StrCat("batch_size is 5Gi", wide, ", or bytes as in 512MiB"));
  EXPECT_EQ(Fault("collate.batch_size=1.5GiB"),
            absl::StrCat("batch_size is 1.5GiB", wide, ", or bytes as in 512MiB"));
  EXPECT_EQ(Fault("collate.batch_size=010KiB"),
            absl::StrCat("batch_size is 010KiB", wide, ", or bytes as in 512MiB"));
  EXPECT_EQ(Fault("resize.scale=1KiB"), "scale: need space between number and identifier");
}

TEST_F(OverridesTest, UnitsAreOfferedOnlyWhereTheyAreTaken) {
  EXPECT_EQ(Fault("collate.batch_size=-5GiB"),
            "batch_size is -5GiB, expected an integer from -9223372036854775808 to "
            "9223372036854775807");
  EXPECT_EQ(Fault("resize.crop=[1KiB, 2]"),
            "crop is [1KiB, 2], expected an integer from -2147483648 to 2147483647");
  EXPECT_EQ(Fault("resize.crop=1Ki"),
            "crop is 1Ki, expected an integer from -2147483648 to 2147483647, or bytes as in "
            "512MiB");
  EXPECT_EQ(Get<testing::Resize>(2, "resize.crop=1KiB").crop(0), 1024);
  EXPECT_EQ(Fault("batches_in_flight=5Gi"),
            "batches_in_flight is 5Gi, expected an integer from 2 to 1024");
}

// A value is one value: nothing else is set along with it.
TEST_F(OverridesTest, NothingMayFollowAValue) {
  EXPECT_EQ(Fault("collate.batch_size=1 tail: DROP"), "batch_size is not one value: 1 tail: DROP");
  EXPECT_EQ(Fault("resize.scale=[1] steps: [{}]"), "scale is not one value: [1] steps: [{}]");
}

TEST_F(OverridesTest, FaultsOfAValueNameTheOverride) {
  EXPECT_EQ(Fault("batches_in_flight=1"), "batches_in_flight is 1, expected 2 to 1024");
  EXPECT_EQ(Fault("collate.tail=7"), "node 'collate': tail is 7, expected PARTIAL or DROP");
}

TEST_F(OverridesTest, AllFaultsAreReported) {
  EXPECT_EQ(
      Faults(Text(), {{}, {"a=1", "collate.tail=DROP", "b=2"}}),
      Lines({absl::StrCat("--set a=1: there is no node or field 'a'; there are ",
                          "read_images, decode, resize, collate, upload, format, name, order, "
                          "batches_in_flight, seed"),
             absl::StrCat("--set b=2: there is no node or field 'b'; there are ",
                          "read_images, decode, resize, collate, upload, format, name, order, "
                          "batches_in_flight, seed")}));
}

TEST_F(OverridesTest, ANameThatOccursTwiceIsNone) {
  EXPECT_EQ(Faults(Head() + Node("testing.Resize") + Node("testing.Resize") + Tail(),
                   {{}, {"resize.shorter_edge=3"}}),
            Lines({("g:3:1: node 'resize': the node at g:2:1 has this name too; give one of them "
                    "another"),
                   "--set resize.shorter_edge=3: 2 nodes are named 'resize'; give them names"}));
}

// The stage's own fault is enough.
TEST_F(OverridesTest, AnUnknownStageIsReportedOnce) {
  const std::string fault =
      Faults(Head() + Node("Colate", "batch_size: 3") + Tail(), {{}, {"colate.batch_size=3"}});
  EXPECT_EQ(fault.find("--set"), std::string::npos) << fault;
  EXPECT_NE(fault.find("g:2:8: node 'colate': there is no stage"), std::string::npos) << fault;
}

}  // namespace
}  // namespace penstock
