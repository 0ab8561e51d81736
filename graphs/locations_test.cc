#include "penstock/graphs/locations.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/parse_text.h"
#include "penstock/graphs/testing/stages.h"

namespace penstock {
namespace {

constexpr char kText[] = R"(name: "x"
order {
  shuffle: FULL
}
node: { name: "a" input: ["b", "c"] input: "d" stage {
    [type.googleapis.com/penstock.testing.Resize] {
      size {
        height: 3
      }
      scale: 1
      scale: 2
      steps [ { height: 1 }, {
        width: 2 } ]
    } } }
node { stage { [type.googleapis.com/penstock.testing.DecodeImage] {
  extra { [type.googleapis.com/penstock.Collate] { batch_size: 3 } }
	fast: false
  more { [type.googleapis.com/penstock.Pin] { } }
  more { [type.googleapis.com/penstock.Collate] {
      tail: DROP } }
} } }
)";

class GraphLocationsTest : public ::testing::Test {
 protected:
  // "line:column" of what was set in kText; "" for the rest.
  std::string At(const std::string& path) const {
    const Location* found = parsed_.locations->Find(path);
    return found == nullptr ? "" : absl::StrCat(found->line, ":", found->column, found->override);
  }

  ParsedText parsed_ = ParseText(kText, "g", AnyTypes(testing::TestRegistry()));
};

TEST_F(GraphLocationsTest, HasTheFieldsOfTheGraphAndItsNodes) {
  ASSERT_TRUE(parsed_.complete);
  ASSERT_TRUE(parsed_.faults.empty());
  EXPECT_EQ(At("name"), "1:1");
  EXPECT_EQ(At("order"), "2:1");
  EXPECT_EQ(At("order.shuffle"), "3:3");
  EXPECT_EQ(At("batches_in_flight"), "");
  EXPECT_EQ(At("node[0]"), "5:1");
  EXPECT_EQ(At("node[0].name"), "5:9");
  EXPECT_EQ(At("node[0].stage"), "5:48");
  EXPECT_EQ(At("node[1]"), "15:1");
  EXPECT_EQ(At("node[1].name"), "");
  EXPECT_EQ(At("node[2]"), "");
}

TEST_F(GraphLocationsTest, HasTheOptionsInsideAny) {
  EXPECT_EQ(At("node[0].stage.size"), "7:7");
  EXPECT_EQ(At("node[0].stage.size.height"), "8:9");
  EXPECT_EQ(At("node[0].stage.size.width"), "");
  EXPECT_EQ(At("node[0].stage.shorter_edge"), "");
  // An Any within the options; a tab goes to the next multiple of eight.
  EXPECT_EQ(At("node[1].stage.extra"), "16:3");
  EXPECT_EQ(At("node[1].stage.extra.batch_size"), "16:52");
  EXPECT_EQ(At("node[1].stage.fast"), "17:9");
  EXPECT_EQ(At("node[1].stage.more[1].tail"), "20:7");
}

TEST_F(GraphLocationsTest, HasTheElementsOfLists) {
  EXPECT_EQ(At("node[0].stage.scale"), "10:7");
  EXPECT_EQ(At("node[0].stage.scale[0]"), "10:7");
  EXPECT_EQ(At("node[0].stage.scale[1]"), "11:7");
  EXPECT_EQ(At("node[0].stage.scale[2]"), "");
}

TEST_F(GraphLocationsTest, AListInBracketsHasOnePlace) {
  EXPECT_EQ(At("node[0].input"), "5:19");
  EXPECT_EQ(At("node[0].input[1]"), "5:19");
  EXPECT_EQ(At("node[0].input[2]"), "5:19");
  EXPECT_EQ(At("node[0].stage.steps"), "12:7");
  EXPECT_EQ(At("node[0].stage.steps[1]"), "12:7");
  // But messages in it have fields.
  EXPECT_EQ(At("node[0].stage.steps[0].height"), "12:17");
  EXPECT_EQ(At("node[0].stage.steps[1].width"), "13:9");
}

TEST_F(GraphLocationsTest, OverrideTakesThePlaceOfAllBelow) {
  GraphLocations& locations = *parsed_.locations;
  locations.Override("node[0].stage.size", "a.size={}");
  EXPECT_EQ(At("node[0].stage.size"), "0:0a.size={}");
  EXPECT_EQ(At("node[0].stage.size.height"), "");
  EXPECT_EQ(At("node[0].stage.scale"), "10:7");
  locations.Override("node[0].stage.scale", "a.scale=3");
  EXPECT_EQ(At("node[0].stage.scale[1]"), "");
  locations.Override("node[1].stage.f", "x");  // "fast" only begins like it.
  EXPECT_EQ(At("node[1].stage.fast"), "17:9");
}

}  // namespace
}  // namespace penstock
