// Opens the device that its argument names and prints what came of it: for tests that need another
// environment than their own.
#include <cstdio>
#include <string>

#include "penstock/memory/open_device.h"

int main(int argc, char** argv) {
  std::string warning;
  const auto device = penstock::OpenDevice(argc > 1 ? argv[1] : "", {}, &warning);
  if (!warning.empty()) std::printf("warning: %s\n", warning.c_str());
  std::printf("%s\n", device.ok() ? (*device)->name().c_str() : device.status().ToString().c_str());
}
