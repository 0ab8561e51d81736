// The command line `penstock run|check|show|stages`.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Runs the command that `arguments` (without the program's name) ask for, and returns the code to
// exit with; messages.h lists them.
int RunCommandLine(const std::vector<std::string>& arguments);

// Relative paths are the user's: `bazel run` starts programs in a folder of its own, and says in
// BUILD_WORKING_DIRECTORY where the user is. Goes there.
void EnterUsersFolder();

}  // namespace penstock
