#include "penstock/graphs/memory_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// With less, most photographs would be decoded on the host: that is no plan to be made silently.
constexpr size_t kLeastArenaBytes = size_t{8} << 20;

int64_t Signed(size_t bytes) { return static_cast<int64_t>(bytes); }

// One of MemoryNeed's numbers.
using Kind = int64_t MemoryNeed::*;
using Kinds = std::vector<Kind>;
using Names = std::vector<std::string>;

// What one output takes memory for, for each device.
struct Part {
  std::string what;
  Kind kind = nullptr;
  int64_t bytes = 0;
  Names lower, set;   // What makes it smaller: fields, and whole settings.
  bool once = false;  // Of all outputs and devices only one has it at a time.
};

Kind KindOf(CachePlace place) {
  switch (place) {
    case CachePlace::kPinned:
      return &MemoryNeed::pinned;
    case CachePlace::kDevice:
      return &MemoryNeed::device;
    case CachePlace::kAuto:  // The planner has chosen.
    case CachePlace::kHost:
      break;
  }
  return &MemoryNeed::pageable;
}

// `node`: of the Cache. `least`: it cannot go lower.
Part CachePart(const std::string& node, CachePlace place, size_t bytes, bool least) {
  Part part = {"a Cache", KindOf(place), Signed(bytes), {}, {}};
  if (!least) part.lower = {node + ".bytes"};
  if (part.kind == &MemoryNeed::device) part.set = {node + ".place=PINNED"};
  if (part.kind == &MemoryNeed::pinned) part.set = {node + ".place=HOST"};
  return part;
}

std::vector<Part> PartsOf(const PlannedOutput& output) {
  const ExecutionPlan& plan = output.plan;
  const PlanNote& note = output.note;
  const bool pinned = plan.memory == HostMemory::kPinned;
  Names batches, arena, pin, decode;
  if (plan.seats > 1) batches.emplace_back("batches_in_flight");
  if (plan.batch_size > 1) batches.push_back(note.collate_node + ".batch_size");
  if (plan.streams > 1) arena = {note.upload_node + ".streams"};
  if (pinned && !plan.or_pageable) pin = {"Pin { mode: AUTO }"};
  if (!plan.whole.empty()) decode = {absl::StrCat(plan.chain.links[0].node, ".device=HOST")};
  const std::string in_flight =
      absl::StrCat(plan.seats, plan.seats == 1 ? " batch in flight" : " batches in flight");
  const std::string arenas = plan.streams == 1
                                 ? "the arena of 1 stream"
                                 : absl::StrCat("the arenas of ", plan.streams, " streams");
  return {
      {in_flight, pinned ? &MemoryNeed::pinned : &MemoryNeed::pageable, Signed(plan.host_bytes()),
       batches, pin},
      {in_flight, &MemoryNeed::device, Signed(plan.layout.device_bytes() * plan.seats), batches,
       decode},
      {arenas, &MemoryNeed::device, Signed(plan.all_arena_bytes()), arena, decode},
      CachePart(note.cache_node, plan.cache.place, plan.cache.bytes(), plan.cache.samples <= 1),
      {"the stage of a Cache", &MemoryNeed::pinned, Signed(plan.cache.stage_bytes()), {}, {}, true},
      CachePart(note.cache_node, plan.encoded_cache.place, plan.encoded_cache.bytes,
                plan.encoded_cache.bytes <= 1),
      {"the list of what a Cache keeps",
       &MemoryNeed::pageable,
       Signed(plan.encoded_cache.records),
       {},
       {}},
  };
}

// Calls body(part, output) for each that takes any of `kinds`.
template <class Body>
void ForEachPart(const std::vector<PlannedOutput>& outputs, const Kinds& kinds, Body body) {
  for (const PlannedOutput& output : outputs) {
    for (const Part& part : PartsOf(output)) {
      const bool counts = std::find(kinds.begin(), kinds.end(), part.kind) != kinds.end();
      if (part.bytes > 0 && counts) body(part, output);
    }
  }
}

void Append(const Names& names, Names& to) {
  for (const std::string& name : names) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  }
}

// Outputs are made one after the other, and each gives its stage back.
int64_t LargestStage(const std::vector<PlannedOutput>& outputs) {
  int64_t most = 0;
  for (const PlannedOutput& output : outputs) {
    most = std::max(most, Signed(output.plan.cache.stage_bytes()));
  }
  return most;
}

// ": 1536 for 3 batches in flight, 70 for a Cache".
std::string Detail(const std::vector<PlannedOutput>& outputs, Kind kind, int64_t devices) {
  Names parts, once;
  ForEachPart(outputs, {kind}, [&](const Part& part, const PlannedOutput& output) {
    if (part.once && (!once.empty() || part.bytes < LargestStage(outputs))) return;
    (part.once ? once : parts)
        .push_back(
            absl::StrCat(part.bytes, " for ", part.what,
                         outputs.size() > 1 ? absl::StrCat(" of '", output.plan.name, "'") : ""));
  });
  if (devices > 1 && kind != &MemoryNeed::device && !parts.empty()) {
    parts.back() += absl::StrCat(", for each of ", devices, " devices");
  }
  Append(once, parts);
  return absl::StrCat(": ", absl::StrJoin(parts, ", "));
}

// "a, b or c".
std::string AnyOf(const Names& names) {
  const auto last = names.end() - 1;
  return names.size() == 1 ? *last
                           : absl::StrCat(absl::StrJoin(names.begin(), last, ", "), " or ", *last);
}

// "; raise `limit`, or lower collate.batch_size or cache.bytes, or use cache.place=HOST": the last
// with `moves`, if memory of another kind will do.
std::string Ways(const std::vector<PlannedOutput>& outputs, const Kinds& kinds, bool moves,
                 absl::string_view limit) {
  Names lower, set;
  ForEachPart(outputs, kinds, [&](const Part& part, const PlannedOutput&) {
    Append(part.lower, lower);
    if (moves) Append(part.set, set);
  });
  std::string text = absl::StrCat("; raise ", limit);
  if (!lower.empty()) absl::StrAppend(&text, ", or lower ", AnyOf(lower));
  if (!set.empty()) absl::StrAppend(&text, ", or use ", AnyOf(set));
  return text;
}

absl::Status CheckFlag(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options,
                       Kind kind, int64_t limit, const char* what, const char* flag) {
  const int64_t bytes = AddUpMemory(outputs, options).*kind;
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the plan takes ", bytes, " bytes of ", what, ", but ", flag, " allows ", limit,
      Detail(outputs, kind, options.devices), Ways(outputs, {kind}, /*moves=*/true, "it")));
}

std::string SharedBy(const LocalWorld& world) {
  if (world.ranks == 1) return "";
  return absl::StrCat(", shared by ", world.ranks, " processes (",
                      world.origin.empty() ? "local_world" : world.origin, ")");
}

absl::Status CheckMachine(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options,
                          const MemoryLimit& limit) {
  const LocalWorld& world = options.local_world;
  const auto check = [&](int64_t bytes, int64_t all, const char* what, const Kinds& kinds,
                         bool moves) {
    const int64_t share = all / world.ranks;
    if (bytes <= share) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the plan takes ", bytes, " bytes of ", what, ", but this process can have ", share, ": ",
        limit.origin, SharedBy(world), Ways(outputs, kinds, moves, "that limit")));
  };
  const MemoryNeed need = AddUpMemory(outputs, options);
  const int64_t pinned = need.pinned - need.mapped;
  PENSTOCK_RETURN_IF_ERROR(
      check(pinned, limit.bytes, "host pinned memory", {&MemoryNeed::pinned}, limit.swap > 0));
  Kinds all = {&MemoryNeed::pinned, &MemoryNeed::pageable};
  if (options.device == DeviceKind::kSim) all.push_back(&MemoryNeed::device);
  return check(pinned + need.pageable, limit.bytes + limit.swap, "host memory", all,
               /*moves=*/false);
}

absl::Status Check(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckFlag(outputs, options, &MemoryNeed::pinned,
                                     options.max_pinned_bytes, "host pinned memory",
                                     "max_pinned_bytes (--max_pinned)"));
  PENSTOCK_RETURN_IF_ERROR(CheckFlag(outputs, options, &MemoryNeed::device,
                                     options.max_device_bytes, "device memory",
                                     "max_device_bytes (--max_device)"));
  for (const MemoryLimit& limit : options.machine.limits) {
    PENSTOCK_RETURN_IF_ERROR(CheckMachine(outputs, options, limit));
  }
  return absl::OkStatus();
}

// By how much more is page-locked than may be; 0 or less: it fits.
int64_t PinnedExcess(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  const MemoryNeed need = AddUpMemory(outputs, options);
  int64_t excess = 0;
  if (options.max_pinned_bytes > 0) excess = need.pinned - options.max_pinned_bytes;
  for (const MemoryLimit& limit : options.machine.limits) {
    const int64_t share = limit.bytes / options.local_world.ranks;
    excess = std::max(excess, need.pinned - need.mapped - share);
  }
  return excess;
}

// A small stage fills a Cache as well, only slower. A half has one row at least.
void ShrinkStages(std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  const int64_t excess = PinnedExcess(outputs, options);
  if (excess <= 0) return;
  const int64_t most = LargestStage(outputs) - excess;
  for (PlannedOutput& output : outputs) {
    CachePlan& cache = output.plan.cache;
    if (cache.stage_rows == 0 || Signed(cache.stage_bytes()) <= most) continue;
    cache.stage_rows = std::max<int64_t>(1, most / (2 * Signed(cache.pitch)));
  }
}

// One by one, of the output that has most to give.
void ShrinkSeats(std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  const auto spare = [](const PlannedOutput& output) {
    return output.plan.least_seats > 0 ? output.plan.seats - output.plan.least_seats : 0;
  };
  const int64_t room = DeviceRoom(options);
  while (!Check(outputs, options).ok() ||
         (room > 0 && AddUpMemory(outputs, options).device > room)) {
    const auto most = std::max_element(
        outputs.begin(), outputs.end(),
        [&](const PlannedOutput& a, const PlannedOutput& b) { return spare(a) < spare(b); });
    if (most == outputs.end() || spare(*most) <= 0) return;
    --most->plan.seats;
  }
}

// Arenas are as large as is good; a batch that needs more runs in waves. So they take no more than
// max_device_bytes leaves.
void ShrinkArenas(std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  if (options.max_device_bytes == 0) return;
  for (PlannedOutput& output : outputs) {
    ExecutionPlan& plan = output.plan;
    const int64_t excess = AddUpMemory(outputs, options).device - options.max_device_bytes;
    if (excess <= 0) return;
    const auto each = static_cast<size_t>((excess + plan.streams - 1) / plan.streams);
    const size_t left = plan.arena_bytes > each ? plan.arena_bytes - each : 0;
    plan.arena_bytes = std::max({left / kSlabAlignment * kSlabAlignment, plan.least_arena_bytes,
                                 std::min(plan.arena_bytes, kLeastArenaBytes)});
  }
}

// True if there was one.
bool MakePageable(std::vector<PlannedOutput>& outputs) {
  bool any = false;
  for (PlannedOutput& output : outputs) {
    if (!output.plan.or_pageable || output.plan.memory != HostMemory::kPinned) continue;
    output.plan.memory = HostMemory::kPageable;
    any = true;
  }
  return any;
}

// A bound, what counts against it, and what is left.
struct Bound {
  int64_t left = 0;
  std::string text;
};

void Nearer(int64_t need, int64_t limit, const std::string& name, Bound& nearest) {
  if (!nearest.text.empty() && nearest.left <= limit - need) return;
  nearest = {limit - need, absl::StrCat(name, " allows ", BytesText(limit))};
}

}  // namespace

std::string BytesText(int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  return absl::StrFormat("%d bytes (%.1f MiB)", bytes, static_cast<double>(bytes) / kMiB);
}

MemoryNeed AddUpMemory(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  MemoryNeed need;
  for (const PlannedOutput& output : outputs) {
    for (const Part& part : PartsOf(output)) {
      if (!part.once) need.*part.kind += part.bytes;
    }
    const CachePlan& rows = output.plan.cache;
    if (rows.place == CachePlace::kPinned && rows.map_file) need.mapped += Signed(rows.bytes());
  }
  need.pinned *= options.devices;
  need.pageable *= options.devices;
  need.mapped *= options.devices;
  need.pinned += LargestStage(outputs);
  // A SimDevice has no memory of its own.
  if (options.device == DeviceKind::kSim) need.pageable += need.device * options.devices;
  return need;
}

int64_t DeviceRoom(const PlannerOptions& options) {
  const int64_t allowed = options.max_device_bytes, free = options.free_device_bytes;
  return allowed == 0 || (free > 0 && free < allowed) ? free : allowed;
}

absl::Status SettleMemory(std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  ShrinkStages(outputs, options);
  ShrinkSeats(outputs, options);
  ShrinkArenas(outputs, options);
  absl::Status refused = Check(outputs, options);
  if (refused.ok() || !MakePageable(outputs)) return refused;
  PENSTOCK_RETURN_IF_ERROR(Check(outputs, options));
  if (options.log) {
    options.log(
        absl::StrCat("Pin { mode: AUTO }: batches are born in pageable memory, which is "
                     "slower to copy: ",
                     refused.message()));
  }
  return absl::OkStatus();
}

std::string MemoryReport(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  const MemoryNeed need = AddUpMemory(outputs, options);
  std::string text = absl::StrCat("memory of all outputs: ", BytesText(need.pinned), " pinned, ",
                                  BytesText(need.pageable), " pageable, ", BytesText(need.device),
                                  " on ", options.devices > 1 ? "each device" : "the device", "\n");
  Bound nearest;
  if (options.max_pinned_bytes > 0) {
    Nearer(need.pinned, options.max_pinned_bytes, "--max_pinned", nearest);
  }
  if (options.max_device_bytes > 0) {
    Nearer(need.device, options.max_device_bytes, "--max_device", nearest);
  }
  for (const MemoryLimit& limit : options.machine.limits) {
    const std::string name = absl::StrCat(limit.origin, SharedBy(options.local_world), ",");
    Nearer(need.pinned - need.mapped, limit.bytes / options.local_world.ranks, name, nearest);
  }
  if (!nearest.text.empty()) absl::StrAppend(&text, "nearest limit: ", nearest.text, "\n");
  if (options.machine.memlock) {
    absl::StrAppend(&text, "RLIMIT_MEMLOCK is ", BytesText(*options.machine.memlock),
                    ", which binds mlock() but not CUDA's page-locking\n");
  }
  return text;
}

}  // namespace penstock
