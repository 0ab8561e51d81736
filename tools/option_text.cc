#include "penstock/tools/option_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::SourceLocation;

std::vector<std::string> Lines(absl::string_view comment) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    absl::ConsumePrefix(&line, " ");
    lines.emplace_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Comments before and behind a field, an enum or a value.
template <class Part>
std::vector<std::string> Comments(const Part& part) {
  SourceLocation location;
  if (!part.GetSourceLocation(&location)) return {};
  return Lines(absl::StrCat(location.leading_comments, location.trailing_comments));
}

std::string Indented(const std::vector<std::string>& lines, absl::string_view indent) {
  std::string text;
  for (const std::string& line : lines) {
    absl::StrAppend(&text, line.empty() ? "" : indent, line, "\n");
  }
  return text;
}

std::string ValuesText(const EnumDescriptor& type, absl::string_view indent) {
  std::vector<const EnumValueDescriptor*> values;
  size_t width = 0;
  for (int i = 0; i < type.value_count(); ++i) {
    if (absl::EndsWith(type.value(i)->name(), "_UNSPECIFIED")) continue;  // Nobody writes it.
    values.push_back(type.value(i));
    width = std::max(width, type.value(i)->name().size());
  }
  std::string text;
  for (const EnumValueDescriptor* value : values) {
    std::string name = value->name();
    for (const std::string& line : Comments(*value)) {
      name.resize(width, ' ');
      absl::StrAppend(&text, indent, std::exchange(name, ""), "  ", line, "\n");
    }
    if (!name.empty()) absl::StrAppend(&text, indent, name, "\n");  // Without a comment.
  }
  return text;
}

std::string TypeText(const FieldDescriptor& field) {
  const std::string repeated = field.is_repeated() ? "repeated " : "";
  if (const EnumDescriptor* type = field.enum_type()) return absl::StrCat(repeated, type->name());
  if (const Descriptor* type = field.message_type()) return absl::StrCat(repeated, type->name());
  return absl::StrCat(repeated, field.type_name());
}

std::string FieldText(const FieldDescriptor& field, absl::string_view indent) {
  const std::string deeper = absl::StrCat(indent, "    ");
  std::string text = absl::StrCat(indent, field.name(), ": ", TypeText(field));
  if (const auto* choice = field.real_containing_oneof()) {
    absl::StrAppend(&text, ", one of ", choice->name());
  }
  absl::StrAppend(&text, "\n", Indented(Comments(field), deeper));
  if (const EnumDescriptor* type = field.enum_type()) {
    absl::StrAppend(&text, Indented(Comments(*type), deeper), ValuesText(*type, deeper + "  "));
  }
  // A message of the same file is a part of these options; others have documents of their own.
  const Descriptor* type = field.message_type();
  if (type != nullptr && type->file() == field.file() && type != field.containing_type()) {
    absl::StrAppend(&text, Indented(Comments(*type), deeper), OptionsText(*type, deeper));
  }
  return text;
}

}  // namespace

std::vector<std::string> CommentLines(const Descriptor& message) {
  SourceLocation location;
  if (!message.GetSourceLocation(&location)) return {};
  return Lines(location.leading_comments);
}

std::string OptionsText(const Descriptor& message, absl::string_view indent) {
  std::string text;
  for (int i = 0; i < message.field_count(); ++i) {
    absl::StrAppend(&text, FieldText(*message.field(i), indent));
  }
  return text;
}

}  // namespace penstock
