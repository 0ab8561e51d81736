#include "penstock/memory/check.h"

#include <cstdio>
#include <cstdlib>

namespace penstock {

void Fatal(std::string_view message, std::source_location where) {
  std::fprintf(stderr, "penstock: %.*s (%s:%u)\n", static_cast<int>(message.size()), message.data(),
               where.file_name(), where.line());
  std::abort();
}

}  // namespace penstock
