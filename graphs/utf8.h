// Protobuf takes strings in UTF-8 only, and complains on stderr about others: they are refused
// before.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace penstock {

// Bytes at the beginning of `text` that are whole characters of UTF-8 (RFC 3629: no surrogates,
// nothing longer than needed, nothing above U+10FFFF).
size_t Utf8Prefix(absl::string_view text);

inline bool IsUtf8(absl::string_view text) { return Utf8Prefix(text) == text.size(); }

}  // namespace penstock
