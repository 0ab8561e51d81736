#include "penstock/graphs/tiling.h"

#include <algorithm>
#include <memory>

namespace penstock {
namespace {

DeviceStep MakeStep(const SampleChain& chain, const Registry::DeviceEntry& form, size_t begin,
                    size_t end) {
  std::vector<const SampleStage*> hosts;
  DeviceStep step;
  for (size_t i = begin; i < end; ++i) {
    hosts.push_back(chain.links[i].stage.get());
    step.name += (i > begin ? "+" : "") + chain.links[i].node;
  }
  step.begin = begin;
  step.end = end;
  step.stage = form.make(hosts);
  return step;
}

}  // namespace

std::optional<std::vector<DeviceStep>> Tile(const SampleChain& chain,
                                            absl::Span<const std::string> types, size_t begin,
                                            size_t end, DeviceKind kind, const Registry& registry) {
  // From the back: the fewest steps that cover [b, end), and where the first of them ends.
  constexpr size_t kNone = ~size_t{0};
  std::vector<size_t> steps(end + 1, kNone), first_end(end + 1, kNone);
  steps[end] = 0;
  for (size_t b = end; b-- > begin;) {
    for (size_t e = end; e > b; --e) {  // The longest first, so that it wins a tie.
      if (steps[e] == kNone || steps[e] + 1 >= steps[b]) continue;
      if (registry.FindDeviceForm(kind, types.subspan(b, e - b)) == nullptr) continue;
      steps[b] = steps[e] + 1;
      first_end[b] = e;
    }
  }
  if (steps[begin] == kNone) return std::nullopt;
  std::vector<DeviceStep> tiles;
  for (size_t b = begin; b < end; b = first_end[b]) {
    const auto* form = registry.FindDeviceForm(kind, types.subspan(b, first_end[b] - b));
    tiles.push_back(MakeStep(chain, *form, b, first_end[b]));
  }
  return tiles;
}

}  // namespace penstock
