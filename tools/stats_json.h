// --stats_json: what was measured, for programs. Keys are only ever added.
#pragma once

#include <string>
#include <vector>

#include "penstock/scheduler/statistics.h"

namespace penstock {

struct OutputStatistics {
  std::string output;        // Name of the terminal node.
  RunStatistics statistics;  // Of all devices: SumOverDevices().
  std::vector<RunStatistics> devices = {};
};

// One object with the keys of DESIGN.md, for the first output, which must be there. Where there are
// several, it also has "outputs": an array with one such object each, which begins with its name,
// "output". An object of several devices has "devices": an array with one such object each.
std::string StatsJson(const std::vector<OutputStatistics>& outputs);

}  // namespace penstock
