// The part of OutputPlanner that a Cache node asks for: what is kept, where, and the gather form.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/graphs/memory_plan.h"
#include "penstock/graphs/output_planner.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/encoded_cache.h"
#include "penstock/stages/read/file_mapping.h"

namespace penstock {
namespace {

constexpr size_t kRowAlignment = 16;  // Vector loads of the kernels.

// Batches of kept samples come so fast that the hand-over takes longer than the work: many are
// kept in flight unless the graph says how many, as long as they are small.
constexpr int64_t kMaxSeats = 32, kMinSeats = 4;
constexpr int64_t kSeatBytes = int64_t{1} << 29;

// Of rows on their way into device memory; two halves of it.
constexpr int64_t kStageBytes = int64_t{32} << 20;

const char* Name(CachePlace place) {
  switch (place) {
    case CachePlace::kDevice:
      return "DEVICE";
    case CachePlace::kPinned:
      return "PINNED";
    default:
      return "HOST";
  }
}

}  // namespace

bool OutputPlanner::CheckCachable() {
  const ExecutionPlan& plan = out_.plan;
  std::string problem;
  if (!plan.source->size()) {
    problem = absl::StrCat("'", plan.source_node, "' is unbounded; its samples come once");
  } else if (plan.chain.input.encoded) {
    return true;
  } else if (!plan.chain.input.fixed()) {
    problem = absl::StrCat("'", plan.source_node, "' gives samples that are ",
                           plan.chain.input.ToString(),
                           "; expected encoded ones, or decoded ones of one size (CIFAR, arrays)");
  } else if (settings_.cache_bytes < plan.chain.input.bytes()) {
    problem = absl::StrCat("bytes is ", settings_.cache_bytes, ": not one sample of ",
                           plan.chain.input.bytes(), " bytes fits");
  }
  if (!problem.empty()) AddError(cache_node_, absl::InvalidArgumentError(problem));
  return problem.empty();
}

// Why no one launch can do all sample stages, or "".
std::string OutputPlanner::MakeGather() {
  ExecutionPlan& plan = out_.plan;
  if (!plan.batch_steps.empty()) {
    return absl::StrCat("'", plan.batch_steps[0].node, "' works on batches on the host");
  }
  if (plan.fixed.size() > kMaxCarries) return "samples have too many fields";
  const auto* form = options_.registry->FindGatherForm(options_.device, types_);
  if (form == nullptr) {
    return absl::StrCat("there is no gather form of [", plan.Names(0, plan.chain.links.size()),
                        "] on this device");
  }
  std::vector<const SampleStage*> hosts;
  std::vector<FieldSpec> specs = {plan.chain.input};
  for (const ChainLink& link : plan.chain.links) {
    hosts.push_back(link.stage.get());
    specs.push_back(link.out);
  }
  std::shared_ptr<GatherStage> gather = form->make(hosts);
  const absl::Status status = gather->Prepare(specs);
  if (!status.ok()) return std::string(status.message());
  plan.gather = std::move(gather);
  return "";
}

bool OutputPlanner::PlaceCache() {
  ExecutionPlan& plan = out_.plan;
  if (settings_.cache_bytes == 0) return true;
  if (!CheckCachable()) return false;
  if (plan.chain.input.encoded) return true;  // See PlaceEncodedCache().
  const std::string why_not = MakeGather();
  const int64_t size = *plan.source->size(), row = plan.chain.input.bytes();
  CachePlan& cache = plan.cache;
  cache.pitch = AlignUp(static_cast<size_t>(row), kRowAlignment);
  const auto pitch = static_cast<int64_t>(cache.pitch);
  cache.samples = std::min(size, std::max<int64_t>(1, settings_.cache_bytes / pitch));
  cache.place = settings_.cache_place;
  std::string& why = out_.note.cache_why;
  if (cache.place == CachePlace::kAuto) {
    why = why_not;
    cache.place = why_not.empty() ? ChooseGatherPlace(why) : CachePlace::kHost;
  } else if (cache.place != CachePlace::kHost && !why_not.empty()) {
    AddError(cache_node_,
             absl::InvalidArgumentError(absl::StrCat("place is ", Name(cache.place), ", but ",
                                                     why_not, "; use place: AUTO or HOST")));
    return false;
  } else {
    why = "as asked";
  }
  if (cache.place == CachePlace::kHost) plan.gather = nullptr;
  if (cache.place == CachePlace::kDevice) {
    cache.stage_rows = std::min(cache.samples, std::max<int64_t>(1, kStageBytes / pitch));
  }
  if (cache.place == CachePlace::kPinned && CanMapSamples()) {
    cache.map_file = true;
    cache.pitch = static_cast<size_t>(row);
    cache.samples = size;
  }
  return true;
}

// All samples lie in memory as they are kept, and the device can read them there.
bool OutputPlanner::CanMapSamples() const {
  const Source& source = *out_.plan.source;
  const auto stored = source.stored_rows();
  return stored && *source.size() * out_.plan.chain.input.bytes() <= settings_.cache_bytes &&
         IsInMemory(stored->file);
}

// Where to keep decoded samples for a gather form. The slabs are laid out for it, on trial: they
// depend on the place.
CachePlace OutputPlanner::ChooseGatherPlace(std::string& why) {
  const ExecutionPlan before = out_.plan;
  LayOutGather();
  const int64_t all = *before.source->size() * static_cast<int64_t>(before.cache.pitch);
  const CachePlace place =
      ChoosePlace(all, CanMapSamples(), absl::StrCat("all samples take ", all, " bytes"), why);
  out_.plan = before;
  return place;
}

// Where to keep samples that take `all_bytes` together (`all` says it): as near to the device as
// they all fit, beside what else the plan takes at the least. `mapped`: page-locked where they lie
// in memory already.
CachePlace OutputPlanner::ChoosePlace(int64_t all_bytes, bool mapped, const std::string& all,
                                      std::string& why) const {
  const ExecutionPlan& plan = out_.plan;
  const int seats = plan.least_seats > 0 ? plan.least_seats : plan.seats;
  const auto taken =
      static_cast<int64_t>(plan.layout.device_bytes() * seats + plan.all_arena_bytes());
  const int64_t device = DeviceRoom(options_);
  const bool within = all_bytes <= settings_.cache_bytes;
  if (within && (device == 0 || all_bytes + taken <= device)) {
    why = absl::StrCat(all, ", which fit");
    return CachePlace::kDevice;
  }
  why = within ? absl::StrCat(all, ", the device has ", std::max<int64_t>(0, device - taken))
               : absl::StrCat(all, ", more than `bytes`");
  const int64_t kept = std::min(all_bytes, settings_.cache_bytes) * options_.devices;
  const auto slabs = static_cast<int64_t>(plan.layout.host_bytes() * seats) * options_.devices;
  const int64_t allowed = options_.max_pinned_bytes;
  std::optional<int64_t> room;
  if (allowed > 0 && kept + slabs > allowed) room = allowed;
  if (const MemoryLimit* const nearest = options_.machine.nearest(); nearest != nullptr) {
    const int64_t share = nearest->bytes / options_.local_world.ranks;
    if ((mapped ? 0 : kept) + slabs > share) room = std::min(room.value_or(share), share);
  }
  if (!room) return CachePlace::kPinned;
  absl::StrAppend(&why, ", and ", *room, " bytes may be page-locked");
  return CachePlace::kHost;
}

CachePlace OutputPlanner::ChooseEncodedPlace(int64_t all_bytes, std::string& why) const {
  if (!out_.plan.whole.empty()) {
    return ChoosePlace(all_bytes, /*mapped=*/false,
                       absl::StrCat("all samples take about ", all_bytes, " bytes"), why);
  }
  why = absl::StrCat("the stages before Collate run on the host: ", out_.note.why);
  return CachePlace::kHost;
}

// Once it is known where the sample stages run, and what else the plan takes.
absl::Status OutputPlanner::PlaceEncodedCache() {
  ExecutionPlan& plan = out_.plan;
  if (settings_.cache_bytes == 0 || !plan.chain.input.encoded) return absl::OkStatus();
  const CachePlace asked = settings_.cache_place;
  if (plan.whole.empty() && (asked == CachePlace::kDevice || asked == CachePlace::kPinned)) {
    AddError(cache_node_, absl::InvalidArgumentError(absl::StrCat(
                              "place is ", Name(asked),
                              ", but the stages before Collate run on the host: ", out_.note.why,
                              "; use place: AUTO or HOST")));
    return absl::OkStatus();
  }
  PENSTOCK_ASSIGN_OR_RETURN(const SampleSizes sizes, MeasureSamples());
  if (sizes.samples == 0) return absl::OkStatus();
  // Of few all were looked at; else the mean is not far from that of those.
  const double mean = sizes.looked_at == sizes.samples ? sizes.mean : sizes.MostOf(sizes.looked_at);
  const double each = mean + static_cast<double>(EncodedCache::kAlignment);
  const auto all = static_cast<int64_t>(each * static_cast<double>(sizes.samples));
  EncodedCachePlan& cache = plan.encoded_cache;
  std::string& why = out_.note.cache_why;
  why = "as asked";
  cache.place = asked == CachePlace::kAuto ? ChooseEncodedPlace(all, why) : asked;
  cache.bytes = static_cast<size_t>(std::min(all, settings_.cache_bytes));
  cache.records = EncodedCache::RecordBytes(plan) * static_cast<size_t>(sizes.samples);
  return absl::OkStatus();
}

// The slab of a plan whose rows are gathered: tables, the rows that are not kept, outputs.
void OutputPlanner::LayOutGather() {
  ExecutionPlan& plan = out_.plan;
  SlabLayout& layout = plan.layout;
  layout.batch = plan.batch_size;
  AddTables();  // Of fixed fields: there are no other steps.
  plan.entries = layout.AddTable(plan.gather->entry_bytes());
  if (!plan.resident()) layout.encoded = plan.cache.pitch * static_cast<size_t>(plan.batch_size);
  layout.outputs = static_cast<size_t>(plan.output().bytes() * plan.batch_size);
  if (!plan.resident()) return;
  ChooseSeats(layout.device_bytes(), kSeatBytes, kMinSeats, kMaxSeats);
  if (!graph_.config().has_batches_in_flight()) plan.least_seats = kMinSeats;
}

}  // namespace penstock
