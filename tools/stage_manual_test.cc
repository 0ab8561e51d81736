// Every stage of the command has a manual, and its example is a graph's text.
#include "penstock/tools/stage_manual.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "penstock/graphs/graph.h"
#include "penstock/stages/registry.h"
#include "penstock/tools/stage_protos.h"

namespace penstock {
namespace {

std::vector<const Registry::Entry*> Stages() { return Registry::Default().entries(); }

TEST(StageManualTest, StagesAreLinked) { EXPECT_GE(Stages().size(), 12u); }

TEST(StageManualTest, EverySnippetParses) {
  const StageManual manual(StageProtos());
  for (const Registry::Entry* stage : Stages()) {
    const std::string snippet = manual.Snippet(*stage->options);
    EXPECT_NE(snippet.find(stage->options->full_name()), std::string::npos) << snippet;
    GraphEdits edits;
    if (snippet.find("${data}") != std::string::npos) edits.variables["data"] = "/data";
    const auto graph = ParseGraph(snippet, stage->options->full_name(), edits);
    ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << snippet;
    EXPECT_EQ(graph->config().node_size(), 1);
  }
}

TEST(StageManualTest, EveryStageAndOptionIsExplained) {
  const StageManual manual(StageProtos());
  for (const Registry::Entry* stage : Stages()) {
    const std::string brief = manual.Brief(*stage->options);
    EXPECT_FALSE(brief.empty()) << stage->options->full_name();
    EXPECT_EQ(brief.find('\n'), std::string::npos) << brief;
    const std::string text = manual.Text(*stage->options);
    for (int i = 0; i < stage->options->field_count(); ++i) {
      const std::string& field = stage->options->field(i)->name();
      // The line of a field is followed by a deeper one.
      const size_t at = text.find(absl::StrCat("\n  ", field, ": "));
      ASSERT_NE(at, std::string::npos) << field << "\n" << text;
      EXPECT_EQ(text.substr(text.find('\n', at + 1) + 1, 6), "      ") << field << "\n" << text;
    }
  }
}

TEST(StageManualTest, WithoutComments) {
  const StageManual manual("");
  const google::protobuf::Descriptor& options = *Stages().front()->options;
  EXPECT_EQ(manual.Brief(options), "");
  EXPECT_EQ(manual.Snippet(options), absl::StrCat("node { stage { [type.googleapis.com/",
                                                  options.full_name(), "] { } } }\n"));
  EXPECT_NE(manual.Text(options).find("Options:\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock
