#include "penstock/graphs/memory_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// With less, most photographs would be decoded on the host: that is no plan to be made silently.
constexpr size_t kLeastArenaBytes = size_t{8} << 20;

constexpr const char* kLower = "lower batches_in_flight, batch_size or the bytes of a Cache";

int64_t Signed(size_t bytes) { return static_cast<int64_t>(bytes); }

absl::Status CheckFlag(int64_t bytes, int64_t limit, const char* what, const char* flag) {
  if (limit == 0 || bytes <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the plan takes ", bytes, " bytes of ", what,
                                                 ", but ", flag, " allows ", limit,
                                                 "; raise it, or ", kLower));
}

std::string SharedBy(const LocalWorld& world) {
  if (world.ranks == 1) return "";
  return absl::StrCat(", shared by ", world.ranks, " processes (",
                      world.origin.empty() ? "local_world" : world.origin, ")");
}

absl::Status CheckMachine(const MemoryNeed& need, const MemoryLimit& limit,
                          const LocalWorld& world) {
  const auto check = [&](int64_t bytes, int64_t all, const char* what, const char* more) {
    const int64_t share = all / world.ranks;
    if (bytes <= share) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the plan takes ", bytes, " bytes of ", what, ", but this process can have ", share, ": ",
        limit.origin, SharedBy(world), "; raise that limit, or ", kLower, more));
  };
  const int64_t pinned = need.pinned - need.mapped;
  PENSTOCK_RETURN_IF_ERROR(check(pinned, limit.bytes, "host pinned memory",
                                 limit.swap > 0 ? ", or use Pin { mode: PAGEABLE }" : ""));
  return check(pinned + need.pageable, limit.bytes + limit.swap, "host memory", "");
}

absl::Status Check(const MemoryNeed& need, const PlannerOptions& options) {
  PENSTOCK_RETURN_IF_ERROR(CheckFlag(need.pinned, options.max_pinned_bytes, "host pinned memory",
                                     "max_pinned_bytes (--max_pinned)"));
  PENSTOCK_RETURN_IF_ERROR(CheckFlag(need.device, options.max_device_bytes, "device memory",
                                     "max_device_bytes (--max_device)"));
  for (const MemoryLimit& limit : options.machine.limits) {
    PENSTOCK_RETURN_IF_ERROR(CheckMachine(need, limit, options.local_world));
  }
  return absl::OkStatus();
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

void AddCache(CachePlace place, int64_t bytes, MemoryNeed& need) {
  switch (place) {
    case CachePlace::kAuto:  // The planner has chosen.
    case CachePlace::kHost:
      need.pageable += bytes;
      break;
    case CachePlace::kPinned:
      need.pinned += bytes;
      break;
    case CachePlace::kDevice:
      need.device += bytes;
      break;
  }
}

}  // namespace

std::string BytesText(int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  return absl::StrFormat("%d bytes (%.1f MiB)", bytes, static_cast<double>(bytes) / kMiB);
}

MemoryNeed AddUpMemory(const std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  MemoryNeed need;
  for (const PlannedOutput& output : outputs) {
    const ExecutionPlan& plan = output.plan;
    (plan.memory == HostMemory::kPinned ? need.pinned : need.pageable) += Signed(plan.host_bytes());
    need.device += Signed(plan.device_bytes());
    const int64_t rows = Signed(plan.cache.bytes());
    AddCache(plan.cache.place, rows, need);
    if (plan.cache.place == CachePlace::kPinned && plan.cache.map_file) need.mapped += rows;
    AddCache(plan.encoded_cache.place, Signed(plan.encoded_cache.bytes), need);
    need.pageable += Signed(plan.encoded_cache.records);
  }
  need.pinned *= options.devices;
  need.pageable *= options.devices;
  need.mapped *= options.devices;
  // A SimDevice has no memory of its own.
  if (options.device == DeviceKind::kSim) need.pageable += need.device * options.devices;
  return need;
}

absl::Status SettleMemory(std::vector<PlannedOutput>& outputs, const PlannerOptions& options) {
  ShrinkArenas(outputs, options);
  absl::Status refused = Check(AddUpMemory(outputs, options), options);
  if (refused.ok() || !MakePageable(outputs)) return refused;
  PENSTOCK_RETURN_IF_ERROR(Check(AddUpMemory(outputs, options), options));
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
