#include "penstock/tools/stage_manual.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.pb.h"
#include "penstock/tools/option_text.h"

namespace penstock {
namespace {

using ::google::protobuf::Descriptor;

// How examples are set off in a comment.
constexpr absl::string_view kIndent = "  ";

}  // namespace

StageManual::StageManual(absl::string_view protos) {
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromArray(protos.data(), static_cast<int>(protos.size()))) return;
  for (const auto& file : files.file()) pool_.BuildFile(file);  // Imports come first.
}

const Descriptor* StageManual::Commented(const Descriptor& options) const {
  const Descriptor* commented = pool_.FindMessageTypeByName(options.full_name());
  return commented == nullptr ? &options : commented;
}

std::string StageManual::Brief(const Descriptor& options) const {
  std::string text;
  for (const std::string& line : CommentLines(*Commented(options))) {
    if (line.empty()) break;
    absl::StrAppend(&text, text.empty() ? "" : " ", line);
  }
  const size_t end = text.find(". ");
  return text.substr(0, end == std::string::npos ? end : end + 1);
}

std::string StageManual::Text(const Descriptor& options) const {
  const Descriptor& message = *Commented(options);
  std::string text;
  for (const std::string& line : CommentLines(message)) absl::StrAppend(&text, line, "\n");
  if (message.field_count() > 0) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "Options:\n", OptionsText(message, kIndent));
  }
  return text;
}

std::string StageManual::Snippet(const Descriptor& options) const {
  std::string snippet;
  int64_t open = 0;
  for (const std::string& line : CommentLines(*Commented(options))) {
    const bool begins = absl::StartsWith(line, absl::StrCat(kIndent, "node {"));
    if (snippet.empty() && !begins) continue;
    absl::StrAppend(&snippet, absl::StripPrefix(line, kIndent), "\n");
    open += std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}');
    if (open == 0) return snippet;
  }
  return absl::StrCat("node { stage { [type.googleapis.com/", options.full_name(), "] { } } }\n");
}

}  // namespace penstock
