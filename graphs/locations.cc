#include "penstock/graphs/locations.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

void GraphLocations::Record(const Message& message, const TextFormat::ParseInfoTree& tree,
                            const std::string& path, const AnyTypes& types) {
  if (const auto* any = AsAny(message)) {
    // The parser records the fields of the message in an Any in the tree of the Any itself.
    const auto content = types.Unpack(*any);
    if (content.ok()) Record(**content, tree, path, types);
    return;
  }
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    RecordField(message, message.GetDescriptor()->field(i), tree, path, types);
  }
}

void GraphLocations::RecordField(const Message& message, const FieldDescriptor* field,
                                 const TextFormat::ParseInfoTree& tree, const std::string& path,
                                 const AnyTypes& types) {
  const auto* reflection = message.GetReflection();
  const std::string name = absl::StrCat(path, path.empty() ? "" : ".", std::string(field->name()));
  const bool list = field->is_repeated();
  const int count = list ? reflection->FieldSize(message, field) : 1;
  // A list in brackets has one place, that of its name. Where there is one, all elements get the
  // place of the first: which of them stand in brackets is not recorded.
  const bool all_placed = count > 0 && tree.GetLocation(field, list ? count - 1 : -1).line >= 0;
  for (int i = 0; i < count; ++i) {
    const int index = list ? i : -1;  // As ParseInfoTree wants it.
    const std::string element = list ? absl::StrCat(name, "[", i, "]") : name;
    const auto start = tree.GetLocation(field, list && !all_placed ? 0 : index);
    if (start.line >= 0) {
      const Location location{start.line + 1, start.column + 1, ""};
      locations_[element] = location;
      if (i == 0) locations_[name] = location;
    }
    const auto* nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                             ? tree.GetTreeForNested(field, index)
                             : nullptr;
    if (nested == nullptr) continue;
    Record(list ? reflection->GetRepeatedMessage(message, field, i)
                : reflection->GetMessage(message, field),
           *nested, element, types);
  }
}

void GraphLocations::Override(const std::string& path, absl::string_view override) {
  for (auto at = locations_.lower_bound(path);
       at != locations_.end() && absl::StartsWith(at->first, path);) {
    const char next = at->first.size() == path.size() ? '.' : at->first[path.size()];
    at = next == '.' || next == '[' ? locations_.erase(at) : std::next(at);
  }
  locations_[path].override = std::string(override);
}

const Location* GraphLocations::Find(const std::string& path) const {
  const auto found = locations_.find(path);
  return found == locations_.end() ? nullptr : &found->second;
}

}  // namespace penstock
