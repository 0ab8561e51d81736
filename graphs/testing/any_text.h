// What has to hold for every text, however broken.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "penstock/stages/registry.h"

namespace penstock::testing {

// Loads and validates `text`. "" if it gave a graph that is valid or errors that are lines which
// begin with a place; else what it gave.
std::string Misbehaviour(absl::string_view text, const Registry& registry);

}  // namespace penstock::testing
