// PENSTOCK_CHECK: for a caller's mistake that no Status can carry (see each API's docs) and for our
// own broken invariants. Prints one line with the place to stderr and aborts.
#pragma once

#include <source_location>
#include <string_view>

namespace penstock {

[[noreturn]] void Fatal(std::string_view message,
                        std::source_location where = std::source_location::current());

}  // namespace penstock

#define PENSTOCK_CHECK(condition, message)        \
  do {                                            \
    if (!(condition)) ::penstock::Fatal(message); \
  } while (false)
