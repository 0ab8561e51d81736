// Numbers of bytes as people write them: 536870912, 512MiB, 5GB.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace penstock {

// A whole number of bytes, at most 2^63 - 1, with a unit right behind it or none: KiB, MiB, GiB and
// TiB are powers of 1024; kB (or KB), MB, GB and TB are powers of 1000. Before a unit there is no
// leading zero: it would mean octal where text format has no unit. Nullopt: `text` is none.
std::optional<int64_t> ParseByteCount(absl::string_view text);

}  // namespace penstock
