// `penstock stages`: what a graph may be made of.
#pragma once

#include <string>

namespace penstock {

// Lists every stage in this program; with the name of one ("penstock.Resize", "Resize", "resize"),
// prints its options and a node to paste. Returns the code to exit with: 2 for an unknown name.
int StagesCommand(const std::string& name);

}  // namespace penstock
