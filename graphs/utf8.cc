#include "penstock/graphs/utf8.h"

#include <cstdint>

namespace penstock {
namespace {

// Bytes of the character that `lead` begins; 0 if it begins none.
int Length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // A byte from within a character, or a longer form of ASCII.
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

// The second byte tells long forms, surrogates and too large characters apart.
bool SecondFits(uint8_t lead, uint8_t second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second < 0xA0;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second < 0x90;
    default:
      return true;
  }
}

}  // namespace

size_t Utf8Prefix(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = Length(byte(at));
    if (length == 0 || length > text.size() - at) return at;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(at + i) & 0xC0) != 0x80) return at;
    }
    if (length > 1 && !SecondFits(byte(at), byte(at + 1))) return at;
    at += length;
  }
  return at;
}

}  // namespace penstock
