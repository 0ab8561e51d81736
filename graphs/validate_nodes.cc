#include "penstock/graphs/validate_nodes.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "penstock/graphs/names.h"

namespace penstock {
namespace {

using google::protobuf::Any;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

// What is wrong with the prefix of its type's name; "" if nothing is.
std::string PrefixProblem(const Any& any) {
  const std::string expected = kTypePrefix + TypeName(any);
  if (any.type_url() == expected) return "";
  return absl::StrCat("[", any.type_url(), "] has another prefix, expected [", expected, "]");
}

// Goes down a message; see CheckKnown.
class KnownCheck {
 public:
  KnownCheck(const AnyTypes& types, const ReportFault& report) : types_(types), report_(report) {}

  void InMessage(const Message& message, const std::string& path, int depth) {
    if (depth > kMaxNesting) {
      return report_(path, absl::StrCat("more than ", kMaxNesting, " levels of messages"));
    }
    if (const Any* any = AsAny(message)) return InAny(*any, path, depth);
    const Reflection* reflection = message.GetReflection();
    const UnknownFieldSet& unknown = reflection->GetUnknownFields(message);
    std::set<int> numbers;
    for (int i = 0; i < unknown.field_count(); ++i) numbers.insert(unknown.field(i).number());
    for (int number : numbers) {
      report_(path, absl::StrCat(std::string(message.GetDescriptor()->full_name()),
                                 " has no field number ", number,
                                 "; was this graph written for a newer version?"));
    }
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) InField(message, field, path, depth);
  }

 private:
  void InField(const Message& message, const FieldDescriptor* field, const std::string& path,
               int depth) {
    const Reflection* reflection = message.GetReflection();
    const bool list = field->is_repeated();
    const int count = list ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string name =
          absl::StrCat(path, path.empty() ? "" : ".", std::string(field->name()),
                       list ? absl::StrCat("[", i, "]") : "");
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        InMessage(list ? reflection->GetRepeatedMessage(message, field, i)
                       : reflection->GetMessage(message, field),
                  name, depth + 1);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
        const int value = list ? reflection->GetRepeatedEnumValue(message, field, i)
                               : reflection->GetEnumValue(message, field);
        if (field->enum_type()->FindValueByNumber(value) != nullptr) continue;
        report_(name,
                absl::StrCat(name, " is ", value, ", expected ", EnumChoices(*field->enum_type())));
      }
    }
  }

  void InAny(const Any& any, const std::string& path, int depth) {
    const auto content = types_.Unpack(any);
    if (!content.ok()) return report_(path, std::string(content.status().message()));
    const std::string problem = PrefixProblem(any);
    if (!problem.empty()) report_(path, problem);
    InMessage(**content, path, depth + 1);
  }

  const AnyTypes& types_;
  const ReportFault& report_;
};

std::string UnknownStage(const Registry& registry, const std::string& name) {
  std::vector<std::string> known;
  for (const Registry::Entry* entry : registry.entries()) {
    known.emplace_back(entry->options->full_name());
  }
  const std::string nearest = registry.Nearest(name);
  return absl::StrCat(
      "there is no stage '", name, "'",
      nearest.empty() ? "." : absl::StrCat("; did you mean '", nearest, "'?"),
      known.empty() ? " No stage is linked in" : " Known stages: ", absl::StrJoin(known, ", "),
      ". A stage of your own: its target has to be in deps, with alwayslink = True");
}

// Why the Any names no stage, "" if it does.
std::string StageProblem(const Any& stage, const Registry& registry) {
  const std::string name = TypeName(stage);
  return registry.Find(name) == nullptr ? UnknownStage(registry, name) : PrefixProblem(stage);
}

// Fills in entry and options.
void ResolveStage(const NodeConfig& config, const Registry& registry, const AnyTypes& types,
                  const ReportFault& report, ValidNode& node) {
  if (config.stage().type_url().empty()) {
    return report("",
                  absl::StrCat("it has no stage, expected stage { [", kTypePrefix, "...] { } }"));
  }
  const std::string problem = StageProblem(config.stage(), registry);
  if (!problem.empty()) report("stage", problem);
  node.entry = registry.Find(TypeName(config.stage()));
  if (node.entry == nullptr) return;
  auto options = types.Unpack(config.stage());
  if (!options.ok()) return report("stage", std::string(options.status().message()));
  node.options = *std::move(options);
  if (!node.options->IsInitialized()) {
    report("stage", absl::StrCat("required: ", node.options->InitializationErrorString()));
  }
  CheckKnown(*node.options, "", types, report);
}

// What a second node says about the first one with its name.
std::string FirstOne(const Graph& graph, int first, const GraphErrors& errors) {
  const Location* where = nullptr;
  if (graph.locations() != nullptr) {
    where = graph.locations()->Find(absl::StrCat("node[", first, "]"));
  }
  return where == nullptr ? absl::StrCat("number ", first + 1)
                          : absl::StrCat("at ", errors.Place(*where));
}

}  // namespace

void CheckKnown(const Message& message, const std::string& path, const AnyTypes& types,
                const ReportFault& report) {
  KnownCheck(types, report).InMessage(message, path, 0);
}

std::vector<ValidNode> ResolveStages(const Graph& graph, const Registry& registry,
                                     GraphErrors& errors) {
  const AnyTypes types(registry);
  std::vector<ValidNode> nodes(graph.config().node_size());
  for (int i = 0; i < graph.config().node_size(); ++i) {
    const NodeConfig& config = graph.config().node(i);
    nodes[i].name = NodeName(config);
    nodes[i].random_key = config.has_random_key() ? config.random_key() : nodes[i].name;
    const ReportFault report = [&](const std::string& path, const std::string& message) {
      errors.AddNode(i, nodes[i].name, path, message);
    };
    ResolveStage(config, registry, types, report, nodes[i]);
    NodeConfig own = config;  // Its own fields; the stage's are checked above.
    own.clear_stage();
    CheckKnown(own, "", types, report);
  }
  return nodes;
}

void CheckNames(const Graph& graph, const std::vector<ValidNode>& nodes, GraphErrors& errors) {
  std::map<std::string, int> first;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const std::string& name = nodes[i].name;
    const NodeConfig& config = graph.config().node(i);
    if (!config.has_name() && config.stage().type_url().empty()) continue;  // Has been reported.
    const char* field = config.has_name() ? "name" : "";
    const std::string problem = NodeNameProblem(name);
    if (!problem.empty()) {
      errors.AddNode(i, name, field,
                     absl::StrCat("the name does not match [a-z][a-z0-9_]*: ", problem));
    }
    const auto [found, is_first] = first.emplace(name, i);
    if (is_first) continue;
    errors.AddNode(i, name, field,
                   absl::StrCat("the node ", FirstOne(graph, found->second, errors),
                                " has this name too; give one of them another"));
  }
}

}  // namespace penstock
