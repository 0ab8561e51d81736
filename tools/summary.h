// What `penstock run` prints when it starts and when it is done.
#pragma once

#include <string>
#include <vector>

#include "penstock/graphs/pipeline.h"
#include "penstock/scheduler/statistics.h"

namespace penstock {

// What is about to run: on which device, with how many threads and why, over how many samples.
std::string StartText(const RunStatistics& statistics, const PipelineInfo& pipeline,
                      const OutputInfo& output);

// How much, how fast, who decoded, by device if there are several, the table of stages, and the
// verdict. All end with a line feed.
std::string Summary(const RunStatistics& statistics, const std::vector<RunStatistics>& devices);

}  // namespace penstock
