// A chain of registered stages, made from text. For tests.
#pragma once

#include <string>
#include <vector>

#include "penstock/stages/sample_chain.h"

namespace penstock {

// A stage by the name of its options message in package penstock, and its options as text.
struct ChainStage {
  std::string name, options;
};

// All stages are initialised and inferred, and lie before the cut. Ends the test if one refuses.
SampleChain MakeChain(const FieldSpec& input, const std::vector<ChainStage>& stages);

// "penstock.DecodeImage", ...: what the registry knows the sequence by.
std::vector<std::string> TypesOf(const std::vector<ChainStage>& stages);

// "DecodeImage{} Resize{shorter_edge: 3}": to be read.
std::string ToString(const std::vector<ChainStage>& stages);

}  // namespace penstock
