#include "penstock/tools/command_line.h"

int main(int argc, char** argv) {
  penstock::EnterUsersFolder();
  return penstock::RunCommandLine({argv + 1, argv + argc});
}
