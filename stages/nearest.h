// "did you mean": the known name that a misspelt one is most like.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace penstock {

// Compares without regard to case and underscores, so that "decode_jpg" finds
// "penstock.DecodeImage": by the part behind the last dot, by edit distance (Levenshtein) and
// common prefix. "" if none is near.
std::string Nearest(absl::string_view name, absl::Span<const std::string> known);

}  // namespace penstock
