#include "penstock/stages/read/class_names.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/printable.h"

namespace penstock {

absl::StatusOr<std::vector<std::string>> ReadClassNames(const std::string& path) {
  const Extent extent{.file = path};
  FileReader reader;
  PENSTOCK_ASSIGN_OR_RETURN(const int64_t bytes, reader.Measure(extent));
  std::string text(bytes, '\0');
  PENSTOCK_RETURN_IF_ERROR(
      reader.Read(extent, absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), text.size())));
  std::vector<std::string> names;
  std::map<std::string, int> lines;
  int line = 0;
  for (absl::string_view name : absl::StrSplit(text, '\n')) {
    ++line;
    name = absl::StripSuffix(name, "\r");
    if (name.empty()) continue;
    const auto [first, is_new] = lines.emplace(name, line);
    if (!is_new) {
      return absl::FailedPreconditionError(absl::StrCat(Printable(path), ":", line, ": '",
                                                        Printable(name), "' stands on line ",
                                                        first->second, " already"));
    }
    names.emplace_back(name);
  }
  return names;
}

}  // namespace penstock
