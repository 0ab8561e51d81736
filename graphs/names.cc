#include "penstock/graphs/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/any_types.h"
#include "penstock/stages/nearest.h"

namespace penstock {
namespace {

bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool IsLower(char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Whether a word begins at the capital text[i].
bool BeginsWord(absl::string_view text, size_t i) {
  if (i == 0) return false;
  const char before = text[i - 1];
  if (IsLower(before)) return true;
  return (IsUpper(before) || IsDigit(before)) && i + 1 < text.size() && IsLower(text[i + 1]);
}

std::vector<std::string> Values(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    // Value 0 means the documented default and is there for compatibility only.
    if (type.value(i)->number() != 0) names.emplace_back(type.value(i)->name());
  }
  return names;
}

}  // namespace

std::string DefaultNodeName(absl::string_view full_name) {
  const size_t dot = full_name.rfind('.');
  if (dot != absl::string_view::npos) full_name.remove_prefix(dot + 1);
  std::string name;
  for (size_t i = 0; i < full_name.size(); ++i) {
    if (IsUpper(full_name[i]) && BeginsWord(full_name, i)) name += '_';
    name += absl::ascii_tolower(static_cast<unsigned char>(full_name[i]));
  }
  return name;
}

std::string NodeName(const NodeConfig& node) {
  return node.has_name() ? node.name() : DefaultNodeName(TypeName(node.stage()));
}

std::string NodeNameProblem(absl::string_view name) {
  if (name.empty()) return "it is empty";
  for (char c : name) {
    if (c == ':') return "':' is kept for ports";
    if (c == '/') return "'/' is kept for graphs inside graphs";
    if (c == '.') return "'.' is what --set puts between a node and its fields";
    if (IsUpper(c)) return "capitals are for stages";
    if (!IsLower(c) && !IsDigit(c) && c != '_') return "only a-z, 0-9 and _ are allowed";
  }
  if (!IsLower(name[0])) return "it has to begin with a letter";
  return "";
}

std::string Hint(absl::string_view name, const std::vector<std::string>& known,
                 absl::string_view all) {
  const std::string nearest = Nearest(name, known);
  if (!nearest.empty()) return absl::StrCat("; did you mean '", nearest, "'?");
  if (known.empty()) return "";
  return absl::StrCat("; ", all, " ", absl::StrJoin(known, ", "));
}

std::string NoSuchField(const google::protobuf::Descriptor& message, absl::string_view name) {
  std::vector<std::string> known;
  for (int i = 0; i < message.field_count(); ++i) known.emplace_back(message.field(i)->name());
  return absl::StrCat(std::string(message.full_name()), " has no field '", name, "'",
                      known.empty() ? ", nor any other" : Hint(name, known, "its fields are"));
}

std::string EnumChoices(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names = Values(type);
  if (names.empty()) return "no value at all";
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

std::string NoSuchValue(const google::protobuf::FieldDescriptor& field, absl::string_view value) {
  const std::string nearest = Nearest(value, Values(*field.enum_type()));
  return absl::StrCat(std::string(field.name()), " is '", value, "', expected ",
                      EnumChoices(*field.enum_type()),
                      nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?"));
}

}  // namespace penstock
