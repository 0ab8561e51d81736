// Graphs that were once good stay good: each file of v1 loads for ever.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "penstock/graphs/graph.h"
#include "penstock/graphs/graph_errors.h"
#include "penstock/graphs/validate.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator("tests/compat/v1")) {
    files.push_back(file.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The graph with a value for each variable that it uses.
absl::StatusOr<Graph> Load(const std::string& file) {
  if (file.find("every_field") != std::string::npos) {
    return LoadGraph(file, {{"data", "/data"}, {"cifar", "/cifar"}});
  }
  return LoadGraph(file, {{"data", "/data"}});
}

// Adds the full names of the fields that are set, and of the values of enums.
void Collect(const Message& message, std::set<std::string>& used) {
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    used.emplace(field->full_name());
    const bool list = field->is_repeated();
    if (field->enum_type() != nullptr && !list) {
      used.emplace(reflection->GetEnum(message, field)->full_name());
    }
    if (field->message_type() == nullptr) continue;
    for (int i = 0; i < (list ? reflection->FieldSize(message, field) : 1); ++i) {
      Collect(list ? reflection->GetRepeatedMessage(message, field, i)
                   : reflection->GetMessage(message, field),
              used);
    }
  }
}

// Adds all names that Collect() could find in messages of that type.
void CollectAll(const google::protobuf::Descriptor& type, std::set<std::string>& all) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (!all.emplace(field->full_name()).second) continue;
    if (const auto* message = field->message_type()) CollectAll(*message, all);
    if (field->enum_type() == nullptr) continue;
    for (int k = 0; k < field->enum_type()->value_count(); ++k) {
      const auto* value = field->enum_type()->value(k);
      if (value->number() != 0) all.emplace(value->full_name());
    }
  }
}

TEST(CompatV1, EachGraphLoadsAndIsValid) {
  EXPECT_GE(Files().size(), 5u);
  for (const std::string& file : Files()) {
    const auto graph = Load(file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    GraphErrors errors(*graph);
    const ValidGraph valid = ValidateGraph(*graph, Registry::Default(), errors);
    EXPECT_TRUE(errors.empty()) << errors.status();
    EXPECT_GE(valid.outputs.size(), 1u) << file;
  }
}

// Whoever adds a field or a stage adds it to every_field.textproto, and so keeps its name for ever.
TEST(CompatV1, EveryFieldStageAndEnumValueIsInSomeGraph) {
  std::set<std::string> used;
  std::set<std::string> all;
  CollectAll(*GraphConfig::descriptor(), all);
  for (const Registry::Entry* entry : Registry::Default().entries()) {
    all.emplace(entry->options->full_name());
    CollectAll(*entry->options, all);
  }
  for (const std::string& file : Files()) {
    const auto graph = Load(file);
    ASSERT_TRUE(graph.ok()) << graph.status();
    Collect(graph->config(), used);
    GraphErrors errors(*graph);
    for (const ValidNode& node : ValidateGraph(*graph, Registry::Default(), errors).nodes) {
      used.emplace(node.entry->options->full_name());
      Collect(*node.options, used);
    }
  }
  for (const std::string& name : all) EXPECT_EQ(used.count(name), 1u) << name;
}

}  // namespace
}  // namespace penstock
