#include "penstock/graphs/tiling.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

// Null if there is no form of links [begin, end), or none that takes their options.
std::unique_ptr<DeviceStage> MakeForm(const SampleChain& chain, absl::Span<const std::string> types,
                                      size_t begin, size_t end, DeviceKind kind,
                                      const Registry& registry) {
  const auto* form = registry.FindDeviceForm(kind, types.subspan(begin, end - begin));
  if (form == nullptr) return nullptr;
  std::vector<const SampleStage*> hosts;
  for (size_t i = begin; i < end; ++i) hosts.push_back(chain.links[i].stage.get());
  std::unique_ptr<DeviceStage> stage = form->make(hosts);
  return stage->accepts() ? std::move(stage) : nullptr;
}

std::string StepName(const SampleChain& chain, size_t begin, size_t end) {
  std::string name;
  for (size_t i = begin; i < end; ++i) name += (i > begin ? "+" : "") + chain.links[i].node;
  return name;
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
      if (MakeForm(chain, types, b, e, kind, registry) == nullptr) continue;
      steps[b] = steps[e] + 1;
      first_end[b] = e;
    }
  }
  if (steps[begin] == kNone) return std::nullopt;
  std::vector<DeviceStep> tiles;
  for (size_t b = begin; b < end; b = first_end[b]) {
    DeviceStep& step = tiles.emplace_back();
    step.name = StepName(chain, b, first_end[b]);
    step.begin = b;
    step.end = first_end[b];
    step.stage = MakeForm(chain, types, b, first_end[b], kind, registry);
  }
  return tiles;
}

std::string WhyNotTiled(const SampleChain& chain, absl::Span<const std::string> types, size_t begin,
                        size_t end, DeviceKind kind, const Registry& registry) {
  size_t covered = end - 1;  // The most links from the front that have forms.
  while (covered > begin && !Tile(chain, types, begin, covered, kind, registry)) --covered;
  std::string why = absl::StrCat("no form on this device takes '", chain.links[covered].node, "' ");
  if (covered > begin) absl::StrAppend(&why, "behind '", StepName(chain, begin, covered), "' ");
  return why + "with these options";
}

}  // namespace penstock
