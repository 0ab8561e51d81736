// File names and other foreign bytes in messages, keys and reports.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace penstock {

// `bytes` as valid UTF-8 on one line: control characters and bytes that are no UTF-8 become \xHH,
// and a backslash becomes \\, so that two names never read alike. Other text is left as it is.
std::string Printable(absl::string_view bytes);

}  // namespace penstock
