// Tiling: which device forms do a part of a chain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/stages/registry.h"

namespace penstock {

// Covers links [begin, end) with device forms of `kind`: the fewest steps; of equal ones, that with
// the longer first step. `types` are the full names of the links' options messages. nullopt if a
// link has no form that fits and accepts its options.
std::optional<std::vector<DeviceStep>> Tile(const SampleChain& chain,
                                            absl::Span<const std::string> types, size_t begin,
                                            size_t end, DeviceKind kind, const Registry& registry);

// Why Tile gives nothing, for people: names the first link that no form can be found for.
std::string WhyNotTiled(const SampleChain& chain, absl::Span<const std::string> types, size_t begin,
                        size_t end, DeviceKind kind, const Registry& registry);

}  // namespace penstock
