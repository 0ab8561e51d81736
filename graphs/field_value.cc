#include "penstock/graphs/field_value.h"

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "penstock/graphs/byte_count.h"
#include "penstock/graphs/names.h"
#include "penstock/graphs/parser_messages.h"
#include "penstock/graphs/text_faults.h"
#include "penstock/graphs/utf8.h"

namespace penstock {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

bool IsString(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

bool IsInteger(const FieldDescriptor& field) { return !IntegerRange(field).empty(); }

bool IsList(const FieldDescriptor& field, absl::string_view value) {
  value = absl::StripAsciiWhitespace(value);
  return field.is_repeated() && !value.empty() && value.front() == '[' && value.back() == ']';
}

bool HasQuotes(absl::string_view text) {
  return !text.empty() && (text.front() == '"' || text.front() == '\'');
}

// A string in quotes, whether it had any or not.
std::string Quote(absl::string_view text) {
  return HasQuotes(text) ? std::string(text) : absl::StrCat("\"", absl::CEscape(text), "\"");
}

// Whether `value` could have been a number of bytes: no list, not negative, and the field is wide
// enough for what is given as an example.
bool MayBeBytes(const FieldDescriptor& field, absl::string_view value) {
  constexpr int64_t kExample = int64_t{512} << 20;
  return TakesInteger(field, kExample) && !IsList(field, value) &&
         !absl::StartsWith(absl::StripAsciiWhitespace(value), "-");
}

// One value as the parser takes it: 5GiB in digits, strings in quotes.
std::string PlainValue(const FieldDescriptor& field, absl::string_view value) {
  if (IsString(field)) return Quote(value);
  const absl::string_view number = absl::StripAsciiWhitespace(value);
  // Without a unit the parser's own rules hold: 010 is 8.
  const bool may_have_unit = !number.empty() && !absl::ascii_isdigit(number.back());
  const auto bytes = may_have_unit ? ParseByteCount(number) : std::nullopt;
  return bytes && IsInteger(field) ? absl::StrCat(*bytes) : std::string(value);
}

// [.jpg, .png] with its quotes; a list with any quote in it is left as it is.
std::string QuoteElements(absl::string_view list) {
  list = absl::StripAsciiWhitespace(list);
  if (list.find_first_of("\"'") != absl::string_view::npos) return std::string(list);
  list = absl::StripAsciiWhitespace(list.substr(1, list.size() - 2));
  if (list.empty()) return "[]";
  std::vector<std::string> elements;
  for (absl::string_view element : absl::StrSplit(list, ',')) {
    elements.push_back(Quote(absl::StripAsciiWhitespace(element)));
  }
  return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
}

class TypeFinder final : public TextFormat::Finder {
 public:
  explicit TypeFinder(const AnyTypes& types) : types_(types) {}
  const google::protobuf::Descriptor* FindAnyType(const Message&, const std::string&,
                                                  const std::string& name) const override {
    return types_.Find(name);
  }

 private:
  const AnyTypes& types_;
};

// Parses `value` into the field of a message that has nothing else.
absl::Status Parse(const FieldDescriptor& field, absl::string_view value, const AnyTypes& types,
                   Message& message) {
  const TypeFinder finder(types);
  ParserMessages messages;
  TextFormat::Parser parser;
  parser.SetFinder(&finder);
  parser.RecordErrorsTo(&messages);
  parser.AllowPartialMessage(true);
  parser.SetRecursionLimit(kMaxNesting);
  bool parsed;
  if (IsList(field, value)) {
    const std::string list = IsString(field) ? QuoteElements(value) : std::string(value);
    parsed = parser.ParseFromString(absl::StrCat(std::string(field.name()), ": ", list), &message);
  } else {
    parsed = parser.ParseFieldValueFromString(PlainValue(field, value), &field, &message);
  }
  if (messages.has_error()) {
    const std::string& problem = messages.all().back().text;
    return absl::InvalidArgumentError(absl::StrCat(
        ExplainValue(field, value, problem, types),
        MeansUnit(problem) && MayBeBytes(field, value) ? ", or bytes as in 512MiB" : ""));
  }
  // Something stands behind the value, perhaps another field.
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  if (!parsed || set.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(field.name()), " is not one value: ", value));
  }
  return absl::OkStatus();
}

// The message that holds the field at the end of `path`.
absl::StatusOr<Message*> Descend(const std::vector<std::string>& path, Message& root) {
  Message* message = &root;
  for (size_t i = 0; i < path.size(); ++i) {
    const auto* field = message->GetDescriptor()->FindFieldByName(path[i]);
    if (field == nullptr) {
      return absl::InvalidArgumentError(NoSuchField(*message->GetDescriptor(), path[i]));
    }
    if (i + 1 == path.size()) break;
    if (field->is_repeated()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path[i], "' is a list; set it as a whole: ", path[i], "=[...]"));
    }
    if (field->message_type() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path[i], "' is a single value; there is no '", path[i + 1], "' in it"));
    }
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return message;
}

}  // namespace

absl::Status SetField(const std::vector<std::string>& path, absl::string_view value,
                      const AnyTypes& types, Message& root) {
  if (!IsUtf8(value)) return absl::InvalidArgumentError("the value is not UTF-8");
  const std::unique_ptr<Message> changed(root.New());
  changed->CopyFrom(root);
  const absl::StatusOr<Message*> message = Descend(path, *changed);
  if (!message.ok()) return message.status();
  const FieldDescriptor& field = *(*message)->GetDescriptor()->FindFieldByName(path.back());
  const std::unique_ptr<Message> parsed((*message)->New());
  if (absl::Status status = Parse(field, value, types, *parsed); !status.ok()) return status;
  (*message)->GetReflection()->ClearField(*message, &field);
  (*message)->MergeFrom(*parsed);
  root.CopyFrom(*changed);
  return absl::OkStatus();
}

}  // namespace penstock
