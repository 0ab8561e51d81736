// Feeds any bytes to the loader; see mutation_test.cc for a run that every build makes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "penstock/graphs/testing/any_text.h"
#include "penstock/graphs/testing/stages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string fault =
      penstock::testing::Misbehaviour(text, penstock::testing::TestRegistry());
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}
