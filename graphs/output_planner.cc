#include "penstock/graphs/output_planner.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr int kDefaultSeats = 4;

// More than any device has; keeps every later product within 64 bits.
constexpr int64_t kMaxBatchBytes = int64_t{1} << 42;

}  // namespace

OutputPlanner::OutputPlanner(const Graph& graph, const ValidGraph& valid,
                             const std::vector<int>& way, const PlannerOptions& options,
                             GraphErrors& errors)
    : graph_(graph), valid_(valid), way_(way), options_(options), errors_(errors) {}

void OutputPlanner::AddError(int node, const absl::Status& status) {
  const ValidNode& valid = valid_.nodes[node];
  for (const absl::string_view fault : absl::StrSplit(status.message(), '\n')) {
    errors_.AddNode(node, valid.name, LeadingField(fault, *valid.options), fault);
  }
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
  plan.devices = options_.devices;
  plan.first_epoch = options_.first_epoch;
  plan.epochs = options_.epochs;
  plan.batch_size = settings_.batch_size;
  plan.tail = settings_.tail;
  plan.memory = settings_.memory;
  plan.or_pageable = settings_.or_pageable;
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
      if (stage->role() == PlanRole::kCollate) {
        collate_node_ = index;
        out_.note.collate_node = node.name;
      }
      if (stage->role() == PlanRole::kCache) {
        cache_node_ = index;
        out_.note.cache_node = node.name;
      }
      if (stage->role() == PlanRole::kUpload) out_.note.upload_node = node.name;
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
  if (!plan.source->size() && plan.devices > 1) {
    AddError(source_node_, absl::InvalidArgumentError(
                               absl::StrCat("is unbounded and can feed one device only, "
                                            "not ",
                                            plan.devices, "; name one, or one a process")));
  }
  return absl::OkStatus();
}

// The chain works on the first field that is an image, or will be; where there is none, on the
// first of all: rows of numbers, which go up as they are.
void OutputPlanner::FindChainField() {
  ExecutionPlan& plan = out_.plan;
  if (spec_.fields.empty()) {
    return errors_.AddNode(source_node_, plan.source_node, "", "gives no field to work on");
  }
  const auto first =
      std::find_if(spec_.fields.begin(), spec_.fields.end(),
                   [](const FieldSpec& field) { return field.encoded || field.is_image(); });
  plan.field = first == spec_.fields.end() ? 0 : static_cast<int>(first - spec_.fields.begin());
  for (size_t i = 0; i < spec_.fields.size(); ++i) {
    const FieldSpec& field = spec_.fields[i];
    const bool is_fixed = static_cast<int>(i) != plan.field && !field.encoded && !field.is_image();
    if (is_fixed) plan.fixed.push_back({static_cast<int>(i), field, 0});
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

}  // namespace penstock
