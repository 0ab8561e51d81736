// `penstock run`: runs a graph, and says what limits it.
#pragma once

#include "penstock/tools/run_flags.h"

namespace penstock {

// Returns the code to exit with; messages.h lists them. A run that a signal stopped ends the
// process itself, without waiting for the device.
int RunCommand(const RunFlags& flags);

}  // namespace penstock
