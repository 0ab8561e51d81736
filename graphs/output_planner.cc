#include "penstock/graphs/output_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/graphs/tiling.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"

namespace penstock {
namespace {

constexpr int kStreams = 2, kStreamsWithDecoder = 4;
constexpr int kDefaultSeats = 4;

// Sizes looked at to size the encoded part, spread over all samples.
constexpr int64_t kSizesSampled = 1000;
// A batch's bytes exceed mean + 6 sigma / sqrt(batch) a sample about once in 10^9 batches; what
// does not fit takes its host form.
constexpr double kSigmas = 6;

// More than any device has; keeps every later product within 64 bits.
constexpr int64_t kMaxBatchBytes = int64_t{1} << 42;

}  // namespace

OutputPlanner::OutputPlanner(const Graph& graph, const ValidGraph& valid,
                             const std::vector<int>& way, const PlannerOptions& options,
                             GraphErrors& errors)
    : graph_(graph), valid_(valid), way_(way), options_(options), errors_(errors) {}

void OutputPlanner::AddError(int node, const absl::Status& status) {
  const ValidNode& valid = valid_.nodes[node];
  errors_.AddNode(node, valid.name, LeadingField(status.message(), *valid.options),
                  status.message());
}

void OutputPlanner::MakeStages() {
  ExecutionPlan& plan = out_.plan;
  bool behind_collate = false;
  for (const int index : way_) {
    MakeNode(index, behind_collate);
    behind_collate = behind_collate || index == collate_node_;
  }
  if (plan.chain.links.size() > kMaxLinks) {
    errors_.AddGraph("", absl::StrCat("a way through the graph has ", plan.chain.links.size(),
                                      " sample stages, expected at most ", kMaxLinks));
  }
  const GraphConfig& config = graph_.config();
  plan.name = valid_.nodes[way_.back()].name;
  plan.seats = config.has_batches_in_flight() ? config.batches_in_flight() : kDefaultSeats;
  plan.shuffle = config.order().shuffle() == Order::FULL;
  plan.seed = options_.seed.value_or(config.seed());
  plan.rank = options_.rank;
  plan.world = options_.world;
  plan.first_epoch = options_.first_epoch;
  plan.epochs = options_.epochs;
  plan.batch_size = settings_.batch_size;
  plan.tail = settings_.tail;
  plan.memory = settings_.memory;
  if (settings_.piece_bytes > 0) plan.piece_bytes = settings_.piece_bytes;
}

void OutputPlanner::MakeNode(int index, bool behind_collate) {
  const ValidNode& node = valid_.nodes[index];
  ExecutionPlan& plan = out_.plan;
  switch (node.entry->role) {
    case Registry::Role::kSource:
      plan.source = node.entry->source();
      plan.source_node = node.name;
      source_node_ = index;
      break;
    case Registry::Role::kSample: {
      ChainLink link = {node.name, node.entry->sample(), RandomKey(node.random_key), {}};
      if (absl::Status status = link.stage->Init(*node.options); !status.ok()) {
        AddError(index, status);
      }
      plan.chain.links.push_back(std::move(link));
      types_.emplace_back(node.entry->options->full_name());
      link_nodes_.push_back(index);
      if (!behind_collate) plan.chain.cut = plan.chain.links.size();
      break;
    }
    case Registry::Role::kBatch: {
      BatchStep step = {node.name, node.entry->batch(), RandomKey(node.random_key)};
      if (absl::Status status = step.stage->Init(*node.options); !status.ok()) {
        AddError(index, status);
      }
      plan.batch_steps.push_back(std::move(step));
      break;
    }
    case Registry::Role::kPlan: {
      const auto stage = node.entry->plan();
      if (absl::Status status = stage->Apply(*node.options, settings_); !status.ok()) {
        AddError(index, status);
      }
      if (stage->role() == PlanRole::kCollate) collate_node_ = index;
      break;
    }
  }
}

absl::Status OutputPlanner::OpenSource() {
  ExecutionPlan& plan = out_.plan;
  const ValidNode& node = valid_.nodes[source_node_];
  const absl::Status status = plan.source->Init(*node.options);
  if (absl::IsInvalidArgument(status)) {
    AddError(source_node_, status);
    return absl::OkStatus();
  }
  if (!status.ok()) return Prefixed(absl::StrCat("node '", node.name, "'"), status);
  if (!plan.source->size() && plan.shuffle) {
    errors_.AddGraph("order.shuffle",
                     absl::StrCat("'", node.name,
                                  "' is unbounded and cannot be shuffled; expected shuffle: NONE"));
  }
  return absl::OkStatus();
}

// The chain works on the one field that is an image, or will be.
void OutputPlanner::FindChainField() {
  ExecutionPlan& plan = out_.plan;
  plan.field = -1;
  for (size_t i = 0; i < spec_.fields.size(); ++i) {
    const FieldSpec& field = spec_.fields[i];
    if (field.encoded || field.is_image()) {
      if (plan.field < 0) plan.field = static_cast<int>(i);
    } else {
      plan.fixed.push_back({static_cast<int>(i), field, 0});
    }
  }
  if (plan.field < 0) {
    errors_.AddNode(source_node_, plan.source_node, "", "gives no image field to work on");
  }
}

void OutputPlanner::InferShapes() {
  ExecutionPlan& plan = out_.plan;
  spec_ = plan.source->fields();
  FindChainField();
  if (!errors_.empty()) return;
  plan.chain.input = spec_.fields[plan.field];
  for (size_t i = 0; i < plan.chain.links.size(); ++i) {
    if (i == plan.chain.cut) CheckCollated();
    ChainLink& link = plan.chain.links[i];
    const int node = link_nodes_[i];
    absl::Status status = link.stage->Infer(spec_);
    if (status.ok() && link.stage->field() != plan.field) {
      status = absl::InvalidArgumentError("field: only one field of a sample can be worked on");
    }
    if (!status.ok()) return AddError(node, status);
    link.out = spec_.fields[plan.field];
    const bool pixels = Same(link.out.dtype, kUint8) && link.out.layout == ImageLayout::kHwc;
    if (i < plan.chain.cut && !pixels) {
      return AddError(node, absl::InvalidArgumentError(absl::StrCat(
                                "gives ", link.out.ToString(),
                                " before Collate, where images are uint8 [height, width, channels];"
                                " move it behind upload")));
    }
  }
  if (plan.chain.cut == plan.chain.links.size()) CheckCollated();
}

// What is collated must have one shape.
void OutputPlanner::CheckCollated() {
  FieldSpec& field = spec_.fields[out_.plan.field];
  const auto error = [this](const std::string& text) {
    AddError(collate_node_, absl::InvalidArgumentError(text));
  };
  if (field.encoded) return error("the image is still encoded; put DecodeImage before it");
  if (!settings_.shape.empty()) {
    const bool fits = settings_.shape.size() == field.shape.size() &&
                      std::equal(field.shape.begin(), field.shape.end(), settings_.shape.begin(),
                                 [](int64_t known, int64_t asked) {
                                   return known == kUnknownExtent || known == asked;
                                 });
    if (!fits) {
      return error(absl::StrCat("shape is [", absl::StrJoin(settings_.shape, ", "),
                                "], but the samples are ", field.ToString()));
    }
    field.shape = settings_.shape;
    ExecutionPlan& plan = out_.plan;
    (plan.chain.cut == 0 ? plan.chain.input : plan.chain.links[plan.chain.cut - 1].out) = field;
  }
  if (!field.fixed()) {
    return error(
        absl::StrCat("the samples are ", field.ToString(),
                     " and have no one shape to collate; add Resize { size }, CenterCrop or "
                     "RandomResizedCrop before it, or shape"));
  }
  if (field.bytes() > kMaxBatchBytes / settings_.batch_size) {
    return error(absl::StrCat("batch_size is ", settings_.batch_size, ": a batch of samples of ",
                              field.bytes(), " bytes is larger than ", kMaxBatchBytes, " bytes"));
  }
}

PlannedOutput OutputPlanner::Take() { return std::move(out_); }

// Why the stages before Collate cannot run on the device, or "". `asked`: what a node asked for.
std::string OutputPlanner::WhyNotOnDevice(Place& asked, int& asking_node) const {
  const ExecutionPlan& plan = out_.plan;
  for (size_t i = 0; i < plan.chain.cut; ++i) {
    const Place place = plan.chain.links[i].stage->place();
    if (place != Place::kAuto) asked = place, asking_node = link_nodes_[i];
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
      note.why = "its device forms do not cover all stages in a row";
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
  plan.streams = settings_.streams > 0 ? settings_.streams
                 : plan.whole.empty()  ? kStreams
                                       : kStreamsWithDecoder;
  return LayOut();
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
  return absl::OkStatus();
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
  for (DeviceStep& step : plan.whole) {
    step.descriptors = layout.AddTable(step.stage->descriptor_bytes());
  }
}

absl::StatusOr<size_t> OutputPlanner::EncodedBytes() const {
  const ExecutionPlan& plan = out_.plan;
  const Source& source = *plan.source;
  const int64_t samples = source.size().value_or(0);
  if (samples == 0) return static_cast<size_t>(plan.batch_size) * (size_t{64} << 10);
  const int64_t looked_at = std::min(samples, kSizesSampled);
  FileReader reader;
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t id = i * samples / looked_at;
    const Extent extent = source.Locate(id);
    int64_t bytes = extent.bytes.value_or(0);
    if (!extent.bytes) {
      auto measured = reader.Measure(extent);
      if (!measured.ok()) {
        return Prefixed(
            absl::StrCat("node '", plan.source_node, "', sample '", source.key(id), "'"),
            measured.status());
      }
      bytes = *measured;
    }
    sum += static_cast<double>(bytes);
    squares += static_cast<double>(bytes) * static_cast<double>(bytes);
  }
  const double mean = sum / static_cast<double>(looked_at);
  const double variance = std::max(0.0, squares / static_cast<double>(looked_at) - mean * mean);
  const auto batch = static_cast<double>(plan.batch_size);
  const double bytes = batch * (mean + kSigmas * std::sqrt(variance / batch)) + batch * 16;
  return AlignUp(static_cast<size_t>(bytes), kSlabAlignment);
}

}  // namespace penstock
