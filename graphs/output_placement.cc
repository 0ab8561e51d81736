// The second half of OutputPlanner: device forms, sides, and the slab's layout.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "penstock/graphs/output_planner.h"
#include "penstock/graphs/tiling.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"

namespace penstock {
namespace {

constexpr int kStreams = 2, kStreamsWithDecoder = 4;

// Sizes looked at to size the encoded part, spread over all samples.
constexpr int64_t kSizesSampled = 1000;
// A batch's bytes exceed mean + 6 sigma / sqrt(batch) a sample about once in 10^9 batches; what
// does not fit takes its host form.
constexpr double kSigmas = 6;

// Of a stream's arena where images are decoded on the device. A photograph's coefficients and
// planes take some 12 times its file: then a batch is one wave. Below, small batches would be cut
// up; above, batches of large images would take the memory of the model that is trained.
constexpr size_t kArenaPerEncodedByte = 16;
constexpr size_t kMinEncodedArenaBytes = size_t{64} << 20;
constexpr size_t kMaxEncodedArenaBytes = size_t{1} << 30;

// Seats where images are decoded on the device, unless the graph says how many: a batch on each
// stream, one that the consumer has, and some that are read; fewer where batches are large.
constexpr int64_t kMinDecoderSeats = 4, kMaxDecoderSeats = 10;
constexpr int64_t kDecoderSlabBytes = int64_t{2} << 30;  // Of all seats.

// What one row behind Upload needs of the arena: they are all alike, and there is no other way for
// one.
size_t LeastArenaBytes(const ExecutionPlan& plan) {
  size_t between = 0, scratch = 0;
  for (const DeviceStep& step : plan.behind) {
    std::vector<Region> regions;
    for (size_t b = step.begin; b <= step.end; ++b) {
      regions.push_back(Region::Whole(plan.chain.spec(b).size()));
    }
    scratch = std::max(scratch, step.stage->row_scratch_bytes({nullptr, regions}));
    if (step.end < plan.chain.links.size()) {
      between += AlignUp(static_cast<size_t>(plan.chain.spec(step.end).bytes()), kSlabAlignment);
    }
  }
  return AlignUp(between, kSlabAlignment) + scratch;
}

}  // namespace

// Why the stages before Collate cannot run on the device, or "". `asked`: what a node asked for.
std::string OutputPlanner::WhyNotOnDevice(Place& asked, int& asking_node) const {
  const ExecutionPlan& plan = out_.plan;
  for (size_t i = 0; i < plan.chain.cut; ++i) {
    const Place place = plan.chain.links[i].stage->place();
    if (place == Place::kAuto) continue;
    asked = place;
    asking_node = link_nodes_[i];
  }
  if (!plan.chain.input.encoded) return "the source gives decoded samples";
  if (!plan.batch_steps.empty()) {
    return absl::StrCat("'", plan.batch_steps[0].node, "' works on batches on the host");
  }
  for (size_t i = 0; i < plan.chain.cut; ++i) {
    const auto& forms = options_.registry->device_forms();
    const bool any = std::any_of(forms.begin(), forms.end(), [&](const auto& form) {
      return form.kind == options_.device && std::find(form.sequence.begin(), form.sequence.end(),
                                                       types_[i]) != form.sequence.end();
    });
    if (!any) {
      return absl::StrCat("'", plan.chain.links[i].node, "' has no form on this device");
    }
  }
  return "";
}

bool OutputPlanner::ChooseWhole() {
  ExecutionPlan& plan = out_.plan;
  PlanNote& note = out_.note;
  Place asked = Place::kAuto;
  int node = -1;
  note.why = WhyNotOnDevice(asked, node);
  if (asked == Place::kHost) note.why = absl::StrCat("'", valid_.nodes[node].name, "' says HOST");
  const bool wanted = asked == Place::kDevice || options_.device == DeviceKind::kCuda;
  if (note.why.empty() && !wanted) note.why = "a simulated device decodes only when asked to";
  if (note.why.empty()) {
    auto whole = Tile(plan.chain, types_, 0, types_.size(), options_.device, *options_.registry);
    if (whole) {
      plan.whole = *std::move(whole);
    } else {
      note.why =
          WhyNotTiled(plan.chain, types_, 0, types_.size(), options_.device, *options_.registry);
    }
  }
  note.on_device = !plan.whole.empty();
  if (asked == Place::kDevice && !note.on_device) {
    AddError(node,
             absl::InvalidArgumentError(absl::StrCat("device is DEVICE, but ", note.why,
                                                     "; use device: AUTO, or move that stage")));
    return false;
  }
  return true;
}

absl::Status OutputPlanner::PlaceStages() {
  ExecutionPlan& plan = out_.plan;
  const size_t cut = plan.chain.cut, n = plan.chain.links.size();
  if (!PlaceCache()) return absl::OkStatus();
  plan.streams = settings_.streams > 0 ? settings_.streams : kStreams;
  if (plan.gather != nullptr) {
    out_.note.on_device = true;
    LayOutGather();
    return absl::OkStatus();
  }
  auto behind = Tile(plan.chain, types_, cut, n, options_.device, *options_.registry);
  if (!behind) {
    AddError(link_nodes_[cut], absl::InvalidArgumentError(absl::StrCat(
                                   "'", plan.Names(cut, n),
                                   "' stands behind Upload, but has no form on this device; ",
                                   "link its device form's target, or put it before Collate")));
    return absl::OkStatus();
  }
  plan.behind = *std::move(behind);
  if (!ChooseWhole()) return absl::OkStatus();
  if (settings_.streams == 0 && !plan.whole.empty()) plan.streams = kStreamsWithDecoder;
  PENSTOCK_RETURN_IF_ERROR(LayOut());
  return PlaceEncodedCache();
}

absl::Status OutputPlanner::LayOut() {
  ExecutionPlan& plan = out_.plan;
  SlabLayout& layout = plan.layout;
  layout.batch = plan.batch_size;
  layout.row = static_cast<size_t>(plan.chain.spec(plan.chain.cut).bytes());
  AddTables();
  if (plan.chain.links.size() > plan.chain.cut) {
    layout.outputs = static_cast<size_t>(plan.output().bytes() * plan.batch_size);
  }
  if (plan.has_encoded_part()) {
    PENSTOCK_ASSIGN_OR_RETURN(layout.encoded, EncodedBytes());
  }
  for (const auto* steps : {&plan.whole, &plan.behind}) {
    for (const DeviceStep& step : *steps) {
      plan.scratch_bytes = std::max(plan.scratch_bytes, step.stage->scratch_bytes(plan.batch_size));
    }
    if (steps->size() > 1) plan.arena_bytes = options_.arena_bytes;
  }
  plan.scratch_bytes = AlignUp(plan.scratch_bytes, kSlabAlignment);
  if (plan.has_encoded_part()) {
    plan.arena_bytes = std::clamp(layout.encoded * kArenaPerEncodedByte, kMinEncodedArenaBytes,
                                  kMaxEncodedArenaBytes);
  }
  if (plan.has_encoded_part()) {
    ChooseSeats(layout.host_bytes(), kDecoderSlabBytes, kMinDecoderSeats, kMaxDecoderSeats);
  }
  // More would have nothing to do, but an arena each.
  plan.streams = std::min(plan.streams, plan.seats);
  plan.least_arena_bytes = LeastArenaBytes(plan);
  plan.arena_bytes = std::max(plan.arena_bytes, plan.least_arena_bytes);
  return absl::OkStatus();
}

// As many as fit into `all_bytes`, within bounds; unless the graph says how many.
void OutputPlanner::ChooseSeats(size_t seat_bytes, int64_t all_bytes, int64_t least, int64_t most) {
  if (graph_.config().has_batches_in_flight()) return;
  const int64_t fit = all_bytes / static_cast<int64_t>(seat_bytes);
  out_.plan.seats = static_cast<int>(std::clamp(fit, least, most));
}

// Only what the device needs has a table: views and Params of the links that it runs, row lists,
// fixed fields, descriptors.
void OutputPlanner::AddTables() {
  ExecutionPlan& plan = out_.plan;
  SlabLayout& layout = plan.layout;
  for (FixedField& fixed : plan.fixed) fixed.table = layout.AddTable(fixed.spec.bytes());
  const size_t n = plan.chain.links.size();
  plan.params.assign(n, kNoTable);
  plan.views.assign(n + 1, kNoTable);
  if (plan.whole.empty() && plan.behind.empty()) return;
  const size_t first = plan.whole.empty() ? plan.chain.cut : 0;
  if (!plan.whole.empty()) plan.encoded_rows = layout.AddTable(sizeof(int32_t));
  plan.finished_rows = layout.AddTable(sizeof(int32_t));
  for (size_t i = first; i < n; ++i) {
    plan.params[i] = layout.AddTable(plan.chain.links[i].stage->params_bytes());
  }
  for (size_t b = first; b <= n; ++b) plan.views[b] = layout.AddTable(sizeof(FieldView));
  bool reports_status = false;
  for (DeviceStep& step : plan.whole) {
    step.descriptors = layout.AddTable(step.stage->descriptor_bytes());
    reports_status = reports_status || step.stage->reports_status();
  }
  if (reports_status) plan.status = layout.AddTable(sizeof(int32_t));
}

double SampleSizes::MostOf(int64_t count) const {
  return mean + kSigmas * sigma / std::sqrt(static_cast<double>(count));
}

absl::StatusOr<SampleSizes> OutputPlanner::MeasureSamples() {
  if (sizes_) return *sizes_;
  const Source& source = *out_.plan.source;
  SampleSizes sizes;
  sizes.samples = source.size().value_or(0);
  sizes.looked_at = std::min(sizes.samples, kSizesSampled);
  FileReader reader;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < sizes.looked_at; ++i) {
    const int64_t id = i * sizes.samples / sizes.looked_at;
    const Extent extent = source.Locate(id);
    int64_t bytes =
        extent.memory ? static_cast<int64_t>(extent.memory->size()) : extent.bytes.value_or(-1);
    if (bytes < 0) {
      auto measured = reader.Measure(extent);
      if (!measured.ok()) {
        return Prefixed(
            absl::StrCat("node '", out_.plan.source_node, "', sample '", source.key(id), "'"),
            measured.status());
      }
      bytes = *measured;
    }
    sum += static_cast<double>(bytes);
    squares += static_cast<double>(bytes) * static_cast<double>(bytes);
  }
  if (sizes.looked_at == 0) return sizes;
  const auto looked_at = static_cast<double>(sizes.looked_at);
  sizes.mean = sum / looked_at;
  sizes.sigma = std::sqrt(std::max(0.0, squares / looked_at - sizes.mean * sizes.mean));
  sizes_ = sizes;
  return sizes;
}

absl::StatusOr<size_t> OutputPlanner::EncodedBytes() {
  const auto batch = static_cast<double>(out_.plan.batch_size);
  PENSTOCK_ASSIGN_OR_RETURN(const SampleSizes sizes, MeasureSamples());
  if (sizes.samples == 0) return static_cast<size_t>(out_.plan.batch_size) * (size_t{64} << 10);
  const double bytes = batch * sizes.MostOf(out_.plan.batch_size) + batch * 16;
  return AlignUp(static_cast<size_t>(bytes), kSlabAlignment);
}

}  // namespace penstock
