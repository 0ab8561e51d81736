#include "penstock/graphs/byte_count.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace penstock {
namespace {

struct Unit {
  const char* name;
  int64_t bytes;
};

constexpr Unit kUnits[] = {
    {"KiB", int64_t{1} << 10},  {"MiB", int64_t{1} << 20},      {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},  {"kB", int64_t{1'000}},         {"KB", int64_t{1'000}},
    {"MB", int64_t{1'000'000}}, {"GB", int64_t{1'000'000'000}}, {"TB", int64_t{1'000'000'000'000}},
};

}  // namespace

std::optional<int64_t> ParseByteCount(absl::string_view text) {
  int64_t unit = 1, count = 0;
  for (const Unit& known : kUnits) {
    if (!absl::ConsumeSuffix(&text, known.name)) continue;
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    unit = known.bytes;
    break;
  }
  // SimpleAtoi takes signs and blanks, too.
  if (text.find_first_not_of("0123456789") != absl::string_view::npos) return std::nullopt;
  if (!absl::SimpleAtoi(text, &count)) return std::nullopt;
  if (count > std::numeric_limits<int64_t>::max() / unit) return std::nullopt;
  return count * unit;
}

}  // namespace penstock
