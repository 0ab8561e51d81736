#include "penstock/graphs/variables.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/names.h"
#include "penstock/graphs/utf8.h"

namespace penstock {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsVariableName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// The flag that gives `name` a value.
std::string Flag(absl::string_view name) {
  return name == "data" ? "--data PATH" : absl::StrCat("--var ", name, "=VALUE");
}

// Goes through the strings of a config and counts what they use.
class Expansion {
 public:
  Expansion(const std::map<std::string, std::string>& variables, const AnyTypes& types,
            const GraphConfig& config, GraphErrors& errors)
      : variables_(variables), types_(types), config_(config), errors_(errors) {}

  // `node` is -1 outside nodes; `path` is that of `message` within the graph, the node or its
  // options.
  void InMessage(Message& message, int node, const std::string& path, int depth) {
    if (depth > kMaxNesting) return;  // Validation refuses it.
    if (auto* any = AsAny(message)) return InAny(*any, node, path, depth);
    std::vector<const FieldDescriptor*> fields;
    const Reflection* reflection = message.GetReflection();
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) InField(message, field, i, node, path, depth);
    }
  }

  void ReportUnused() {
    const std::string used =
        used_.empty() ? "none" : absl::StrCat("'", absl::StrJoin(used_, "', '"), "'");
    for (const auto& [name, value] : variables_) {
      if (used_.contains(name)) continue;
      errors_.AddGraph("",
                       absl::StrCat("variable '", name, "' is not used; the graph uses ", used));
    }
  }

 private:
  void InField(Message& message, const FieldDescriptor* field, int index, int node,
               const std::string& path, int depth) {
    const Reflection* reflection = message.GetReflection();
    const bool list = field->is_repeated();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* nested = list ? reflection->MutableRepeatedMessage(&message, field, index)
                             : reflection->MutableMessage(&message, field);
      const bool is_node = message.GetDescriptor() == GraphConfig::descriptor() && list;
      // A node's fields and its options are named from the node on; see GraphErrors::AddNode.
      const bool from_node = is_node || message.GetDescriptor() == NodeConfig::descriptor();
      return InMessage(*nested, is_node ? index : node, from_node ? "" : PathOf(path, field, index),
                       depth + 1);
    }
    if (field->type() != FieldDescriptor::TYPE_STRING) return;
    const std::string text = list ? reflection->GetRepeatedString(message, field, index)
                                  : reflection->GetString(message, field);
    absl::StatusOr<std::string> expanded = Expand(text, variables_, used_);
    if (!expanded.ok()) return Report(node, PathOf(path, field, index), expanded.status());
    if (*expanded == text) return;
    if (list) {
      reflection->SetRepeatedString(&message, field, index, *std::move(expanded));
    } else {
      reflection->SetString(&message, field, *std::move(expanded));
    }
  }

  void InAny(google::protobuf::Any& any, int node, const std::string& path, int depth) {
    auto content = types_.Unpack(any);
    if (!content.ok()) return;  // Validation says so.
    const std::string before = (*content)->SerializePartialAsString();
    InMessage(**content, node, path, depth + 1);
    std::string after = (*content)->SerializePartialAsString();
    if (after != before) any.set_value(std::move(after));
  }

  static std::string PathOf(const std::string& path, const FieldDescriptor* field, int index) {
    return absl::StrCat(path, path.empty() ? "" : ".", std::string(field->name()),
                        field->is_repeated() ? absl::StrCat("[", index, "]") : "");
  }

  void Report(int node, const std::string& path, const absl::Status& status) {
    const std::string message = absl::StrCat(path, ": ", status.message());
    if (node < 0) return errors_.AddGraph(path, message);
    errors_.AddNode(node, NodeName(config_.node(node)), path, message);
  }

  const std::map<std::string, std::string>& variables_;
  const AnyTypes& types_;
  const GraphConfig& config_;
  GraphErrors& errors_;
  std::set<std::string> used_;
};

}  // namespace

absl::StatusOr<std::string> Expand(absl::string_view text,
                                   const std::map<std::string, std::string>& variables,
                                   std::set<std::string>& used) {
  std::string expanded;
  std::vector<std::string> problems;
  while (true) {
    const size_t dollar = text.find('$');
    expanded += std::string(text.substr(0, dollar));
    if (dollar == absl::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (text.empty() || text[0] != '{') {
      expanded += '$';
      if (!text.empty() && text[0] == '$') text.remove_prefix(1);
      continue;
    }
    const size_t end = text.find('}');
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError("'${' is not closed by '}'; for the characters write $${");
    }
    const std::string name(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
    const auto found = variables.find(name);
    if (!IsVariableName(name)) {
      problems.push_back(
          absl::StrCat("'", name, "' is no name of a variable: letters, digits and _"));
    } else if (used.insert(name); found != variables.end()) {
      expanded += found->second;
    } else {
      problems.push_back(absl::StrCat("${", name, "} has no value; give it with ", Flag(name)));
    }
  }
  if (problems.empty()) return expanded;
  return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
}

void ExpandVariables(const std::map<std::string, std::string>& variables, const AnyTypes& types,
                     GraphConfig& config, GraphErrors& errors) {
  std::map<std::string, std::string> usable = variables;
  for (auto& [name, value] : usable) {
    if (IsUtf8(value)) continue;
    errors.AddGraph("", absl::StrCat("the value of variable '", name, "' is not UTF-8"));
    value.clear();
  }
  Expansion expansion(usable, types, config, errors);
  expansion.InMessage(config, -1, "", 0);
  expansion.ReportUnused();
}

}  // namespace penstock
