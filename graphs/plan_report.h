// What `penstock show` prints of a plan.
#pragma once

#include <string>

#include "penstock/graphs/planner.h"

namespace penstock {

// For people: the way of a sample with the side and tensor of each stage, why it is so, what each
// byte is written on the host, and the memory that the plan takes. Ends with a line feed.
std::string PlanReport(const PlannedOutput& output);

}  // namespace penstock
