#include "penstock/graphs/text_faults.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/io/tokenizer.h"
#include "penstock/graphs/byte_count.h"
#include "penstock/graphs/graph.pb.h"
#include "penstock/graphs/names.h"

namespace penstock {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::Tokenizer;

struct Range {
  int64_t low = 0;
  uint64_t high = 0;
};

template <typename Integer>
Range RangeOf() {
  return {std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()};
}

// Nullopt: `field` is no integer.
std::optional<Range> FindRange(const FieldDescriptor& field) {
  if (field.containing_type() == GraphConfig::descriptor() &&
      field.number() == GraphConfig::kBatchesInFlightFieldNumber) {
    return Range{kMinBatchesInFlight, kMaxBatchesInFlight};
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return RangeOf<int32_t>();
    case FieldDescriptor::CPPTYPE_INT64:
      return RangeOf<int64_t>();
    case FieldDescriptor::CPPTYPE_UINT32:
      return RangeOf<uint32_t>();
    case FieldDescriptor::CPPTYPE_UINT64:
      return RangeOf<uint64_t>();
    default:
      return std::nullopt;
  }
}

// The parser's own words in our way of writing: 'expected ':', found '3''.
std::string Plain(absl::string_view text) {
  text = absl::StripSuffix(text, ".");
  std::string plain = absl::StrReplaceAll(text, {{"\"", "'"}});
  if (absl::EndsWith(plain, "got: ")) plain += "the end";
  if (!plain.empty()) plain[0] = absl::ascii_tolower(static_cast<unsigned char>(plain[0]));
  return plain;
}

// The names between double quotes.
std::vector<std::string> Quoted(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '"');
  std::vector<std::string> quoted(2);  // As many as any message has that is asked for them.
  for (size_t i = 1; i < parts.size() && i / 2 < quoted.size(); i += 2) quoted[i / 2] = parts[i];
  return quoted;
}

// One message and the token that it is about.
class Explanation {
 public:
  Explanation(const ParserMessage& message, const TextTokens& tokens, const AnyTypes& types)
      : message_(message), tokens_(tokens), types_(types) {
    at_ = TokenAt(tokens, message.line, message.column);
    context_ = ContextOf(tokens, at_, types);
  }

  std::optional<TextFault> Make() {
    fault_.message = message_.warning ? Warning() : Error();
    if (fault_.message.empty()) return std::nullopt;
    fault_.line = tokens_[at_].line + 1;
    fault_.column = tokens_[at_].column + 1;
    // The parser gives up inside a word that is wrong: its own column is then the better one.
    if (!moved_) {
      fault_.line = message_.line + 1;
      fault_.column = message_.column + 1;
    }
    fault_.node = context_.node;
    return fault_;
  }

 private:
  bool Says(absl::string_view text) const { return absl::StartsWith(message_.text, text); }

  void MoveTo(size_t at) {
    at_ = at;
    moved_ = true;
  }

  // Goes back to the nearest `text` before the place where the parser stood.
  void BackTo(absl::string_view text) {
    for (size_t i = at_; i > 0; --i) {
      if (tokens_[i - 1].text != text) continue;
      return MoveTo(i - 1);
    }
  }

  // Goes back to the '[' of the Any that ends right before the place where the parser stood.
  void BackToType() {
    int depth = 0;
    size_t i = at_;
    do {
      const std::string& text = tokens_[--i].text;
      depth += text == "}" || text == ">";
      depth -= text == "{" || text == "<";
    } while (i > 0 && depth > 0);
    at_ = i;
    BackTo("[");
  }

  // A field of `type` was skipped.
  void NoteForm(const Descriptor* type) {
    fault_.hides_form = type == GraphConfig::descriptor() || type == NodeConfig::descriptor();
  }

  std::string Warning() {
    const std::vector<std::string> names = Quoted(message_.text);
    if (Says("Ignoring extension")) {
      BackTo("[");
      NoteForm(types_.Find(names[1]));
      return absl::StrCat("there is no extension '", names[0], "'");
    }
    if (!Says("Message type")) return "";
    BackTo(names[1]);
    const Descriptor* type = types_.Find(names[0]);
    if (type == nullptr) return "";
    NoteForm(type);
    return NoSuchField(*type, names[1]);
  }

  std::string Error() {
    const std::vector<std::string> names = Quoted(message_.text);
    if (Says("Non-repeated Any")) {
      BackToType();
      return "a second stage in one node; give it a node of its own";
    }
    if (Says("Non-repeated field")) {
      BackTo(names[0]);
      if (names[0] == "stage") return "a second stage in one node; give it a node of its own";
      return absl::StrCat("'", names[0], "' is set twice");
    }
    if (absl::StrContains(message_.text, "another member of oneof")) {
      BackTo(names[0]);
      return absl::StrCat("'", names[0], "' and '", names[1], "' exclude each other");
    }
    if (Says("Expected \"/\", found \"]\"")) return MissingPrefix();
    if (Says("Expected \"]\", found \"/\"")) {
      BackTo("[");
      return absl::StrCat("a stage belongs into the field 'stage': stage { [", kTypePrefix,
                          "...] { } }");
    }
    if (tokens_[at_].type == Tokenizer::TYPE_END && Says("Expected identifier, got: ")) {
      return "the text ends, but a '}' is missing";
    }
    if (MeansUnit(message_.text) && context_.field != nullptr && at_ > 0) return NumberWithUnit();
    return ValueError();
  }

  // The parser stands behind the digits.
  std::string NumberWithUnit() {
    const std::string digits = tokens_[at_ - 1].text + tokens_[at_].text;
    MoveTo(at_ - 1);
    const bool is_negative = at_ > 0 && tokens_[at_ - 1].text == "-";
    const std::string value = is_negative ? "-" + digits : digits;
    const auto bytes = ParseByteCount(value);
    const bool fits = bytes && TakesInteger(*context_.field, *bytes);
    return absl::StrCat(ExplainValue(*context_.field, value, message_.text, types_),
                        fits ? absl::StrCat("; write ", *bytes) : "");
  }

  // The parser stands at the ']' of [penstock.Collate].
  std::string MissingPrefix() {
    const size_t end = at_;
    BackTo("[");
    std::string name;
    for (size_t i = at_ + 1; i < end; ++i) name += tokens_[i].text;
    return absl::StrCat("'", name, "' lacks its prefix, expected [", kTypePrefix, name, "]");
  }

  std::string ValueError() {
    const bool behind = Says("Unknown enumeration value") || Says("Invalid value for boolean");
    if (behind && at_ > 0) MoveTo(at_ - 1);
    const FieldDescriptor* field = context_.field;
    const std::string before = at_ > 0 ? tokens_[at_ - 1].text : "";
    if (field == nullptr || (before != ":" && before != "[" && before != "," && before != "-")) {
      return Plain(message_.text);
    }
    const std::string& text = tokens_[at_].text;
    const std::string value = before == "-" ? "-" + text
                              : text == "-" ? "-" + tokens_[at_ + 1].text
                                            : text;
    return ExplainValue(*field, value, message_.text, types_);
  }

  const ParserMessage& message_;
  const TextTokens& tokens_;
  const AnyTypes& types_;
  size_t at_ = 0;
  bool moved_ = false;
  TextContext context_;
  TextFault fault_;
};

}  // namespace

std::optional<TextFault> Explain(const ParserMessage& message, const TextTokens& tokens,
                                 const AnyTypes& types) {
  return Explanation(message, tokens, types).Make();
}

std::string IntegerRange(const FieldDescriptor& field) {
  const std::optional<Range> range = FindRange(field);
  return range ? absl::StrCat(range->low, " to ", range->high) : "";
}

bool TakesInteger(const FieldDescriptor& field, int64_t value) {
  const std::optional<Range> range = FindRange(field);
  return range && range->low <= value && std::cmp_less_equal(value, range->high);
}

bool MeansUnit(absl::string_view message) {
  return absl::StartsWith(message, "Need space between number and identifier");
}

std::string ExplainValue(const FieldDescriptor& field, absl::string_view value,
                         const std::string& message, const AnyTypes& types) {
  if (value.empty()) return absl::StrCat(std::string(field.name()), " has no value");
  if (absl::StartsWith(message, "Message type")) {  // Inside a message that is given whole.
    const std::vector<std::string> names = Quoted(message);
    if (const Descriptor* type = types.Find(names[0])) return NoSuchField(*type, names[1]);
  }
  if (absl::StartsWith(message, "Unknown enumeration value")) return NoSuchValue(field, value);
  const absl::string_view name = field.name();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    return absl::StrCat(name, " is '", value, "', expected true or false");
  }
  const std::string range = IntegerRange(field);
  const bool is_about_integer = absl::StartsWith(message, "Integer out of range") ||
                                absl::StartsWith(message, "Expected integer") || MeansUnit(message);
  if (is_about_integer && !range.empty()) {
    return absl::StrCat(name, " is ", value, ", expected an integer from ", range);
  }
  return absl::StrCat(name, ": ", Plain(message));
}

}  // namespace penstock
