#include "penstock/stages/read/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Length of the well-formed UTF-8 sequence that `text` begins with (Unicode 15, table 3-7); 0 if
// none.
size_t Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte's range leaves out overlong forms, surrogates and what is beyond U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string Printable(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = Utf8Length(bytes);
    const auto first = static_cast<uint8_t>(bytes[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      absl::StrAppend(&out, "\\x", absl::Hex(first, absl::kZeroPad2));
      bytes.remove_prefix(1);
      continue;
    }
    absl::StrAppend(&out, first == '\\' ? "\\" : "", bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace penstock
