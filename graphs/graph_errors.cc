#include "penstock/graphs/graph_errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace penstock {
namespace {

// One error is one line, whatever names a text holds.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return text;
}

// The field's name before a message that does not begin with it, after `separator`.
std::string FieldPrefix(absl::string_view field, absl::string_view message,
                        absl::string_view separator) {
  if (field.empty() || absl::StartsWith(message, field)) return "";
  return absl::StrCat(separator, field);
}

}  // namespace

const Location* GraphErrors::Find(const std::string& path) const {
  return graph_.locations() == nullptr ? nullptr : graph_.locations()->Find(path);
}

const Location* GraphErrors::FindInNode(int node, std::string field) const {
  const std::string path = absl::StrCat("node[", node, "]");
  while (!field.empty()) {
    if (const Location* own = Find(absl::StrCat(path, ".", field))) return own;
    if (const Location* option = Find(absl::StrCat(path, ".stage.", field))) return option;
    const size_t last = field.find_last_of(".[");
    field.resize(last == std::string::npos ? 0 : last);
  }
  return Find(path);
}

void GraphErrors::AddNode(int node, absl::string_view name, absl::string_view field,
                          absl::string_view message) {
  const std::string who = name.empty() ? "node" : absl::StrCat("node '", name, "'");
  const Location* where = FindInNode(node, std::string(field));
  // Where the place is that of the whole node, or none, the words have to name the field.
  const bool placed = where != nullptr && where != Find(absl::StrCat("node[", node, "]"));
  const std::string prefix = placed ? "" : FieldPrefix(field, message, ", ");
  Add(where == nullptr ? Location() : *where, absl::StrCat(who, prefix, ": ", message));
}

void GraphErrors::AddGraph(absl::string_view field, absl::string_view message) {
  if (const Location* where = Find(std::string(field))) return Add(*where, message);
  const std::string prefix = FieldPrefix(field, message, "");
  Add({}, absl::StrCat(prefix, prefix.empty() ? "" : ": ", message));
}

void GraphErrors::Add(const Location& where, absl::string_view message) {
  const std::string place = Place(where);
  errors_.emplace(Key(where.line == 0, where.line, where.column),
                  OneLine(absl::StrCat(place, place.empty() ? "" : ": ", message)));
}

std::string GraphErrors::Place(const Location& where) const {
  if (!where.override.empty()) return absl::StrCat("--set ", where.override);
  if (graph_.locations() == nullptr) return "";
  const std::string& file = graph_.locations()->file();
  return where.line == 0 ? file : absl::StrCat(file, ":", where.line, ":", where.column);
}

absl::Status GraphErrors::status() const {
  if (errors_.empty()) return absl::OkStatus();
  std::string lines;
  for (const auto& [key, error] : errors_) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", error);
  }
  return absl::InvalidArgumentError(lines);
}

std::string LeadingField(absl::string_view message, const google::protobuf::Message& options) {
  const google::protobuf::Descriptor* type = options.GetDescriptor();
  std::string path;
  size_t at = 0;
  while (type != nullptr) {
    size_t end = at;
    while (end < message.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(message[end])) || message[end] == '_')) {
      ++end;
    }
    const auto* field = type->FindFieldByName(std::string(message.substr(at, end - at)));
    if (field == nullptr) break;
    absl::StrAppend(&path, path.empty() ? "" : ".", std::string(field->name()));
    if (end == message.size() || message[end] != '.') break;
    type = field->message_type();  // Null for a scalar: what follows is a full stop.
    at = end + 1;
  }
  return path;
}

}  // namespace penstock
