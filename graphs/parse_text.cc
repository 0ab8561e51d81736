#include "penstock/graphs/parse_text.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "penstock/graphs/parser_messages.h"
#include "penstock/graphs/text_context.h"
#include "penstock/graphs/utf8.h"

namespace penstock {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::Tokenizer;

// Finds the types of Any messages, and gives unknown ones a type without fields, so that the parser
// goes on.
class TypeFinder final : public TextFormat::Finder {
 public:
  TypeFinder(const AnyTypes& types, bool* has_unknown) : types_(types), has_unknown_(has_unknown) {
    google::protobuf::FileDescriptorProto file;
    file.set_name("unknown.proto");
    file.add_message_type()->set_name("Unknown");
    unknown_ = pool_.BuildFile(file)->message_type(0);
  }

  const Descriptor* FindAnyType(const Message&, const std::string& prefix,
                                const std::string& name) const override {
    const Descriptor* type = types_.Find(name);
    if (type == nullptr || prefix != kTypePrefix) *has_unknown_ = true;
    return type == nullptr ? unknown_ : type;
  }

 private:
  const AnyTypes& types_;
  bool* has_unknown_;
  DescriptorPool pool_;
  const Descriptor* unknown_;
};

// What cannot be a text at all, at its place.
std::optional<TextFault> Unreadable(absl::string_view text) {
  TextFault fault{1, 1, -1, "larger than 16 MiB; no graph is", false};
  if (text.size() > kMaxTextBytes) return fault;
  const absl::string_view good = text.substr(0, Utf8Prefix(text));
  if (good.size() == text.size()) return std::nullopt;
  fault.line += static_cast<int>(std::count(good.begin(), good.end(), '\n'));
  fault.column += static_cast<int>(good.size() - (good.rfind('\n') + 1));  // npos + 1 is 0.
  fault.message = "not UTF-8; a graph is text";
  return fault;
}

// A string whose escapes ("\xff") are not UTF-8: the parser would take it, and protobuf complain
// later.
std::optional<TextFault> BadString(absl::string_view text, const AnyTypes& types) {
  if (text.find('\\') == absl::string_view::npos) return std::nullopt;
  const TextTokens tokens = Tokenize(text);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].type != Tokenizer::TYPE_STRING) continue;
    std::string value;
    Tokenizer::ParseString(tokens[i].text, &value);
    if (IsUtf8(value)) continue;
    const TextContext context = ContextOf(tokens, i, types);
    if (context.field == nullptr || context.field->type() != FieldDescriptor::TYPE_STRING) continue;
    return TextFault{tokens[i].line + 1, tokens[i].column + 1, context.node,
                     absl::StrCat(std::string(context.field->name()), " is not UTF-8"), false};
  }
  return std::nullopt;
}

// Drops the node that the parser was in when it gave up: those that it has read have a place.
void DropUnfinished(const TextFormat::ParseInfoTree& tree, GraphConfig& config) {
  const auto* field = GraphConfig::descriptor()->FindFieldByNumber(GraphConfig::kNodeFieldNumber);
  while (config.node_size() > 0 && tree.GetLocation(field, config.node_size() - 1).line < 0) {
    config.mutable_node()->RemoveLast();
  }
}

}  // namespace

ParsedText ParseText(absl::string_view text, const std::string& file, const AnyTypes& types) {
  ParsedText parsed;
  parsed.locations = std::make_shared<GraphLocations>(file);
  std::optional<TextFault> fault = Unreadable(text);
  if (!fault) fault = BadString(text, types);
  if (fault) {
    parsed.faults.push_back(*fault);
    parsed.complete = false;
    return parsed;
  }
  const TypeFinder finder(types, &parsed.has_unknown_types);
  ParserMessages messages;
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&messages);
  parser.SetFinder(&finder);
  parser.WriteLocationsTo(&tree);
  parser.AllowUnknownField(true);
  parser.AllowPartialMessage(true);
  parser.SetRecursionLimit(kMaxNesting);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  parsed.complete = parser.Parse(&input, &parsed.config) && !messages.has_error();
  if (!parsed.complete) DropUnfinished(tree, parsed.config);
  parsed.locations->Record(parsed.config, tree, "", types);
  if (messages.all().empty()) return parsed;

  const TextTokens tokens = Tokenize(text);
  for (const ParserMessage& message : messages.all()) {
    fault = Explain(message, tokens, types);
    if (fault) parsed.faults.push_back(*std::move(fault));
  }
  return parsed;
}

}  // namespace penstock
