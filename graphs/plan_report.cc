#include "penstock/graphs/plan_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "penstock/graphs/memory_plan.h"

namespace penstock {
namespace {

const char* Side(const PlannedOutput& output, size_t link) {
  return link >= output.plan.chain.cut || output.note.on_device ? "device" : "host";
}

void AppendSource(const ExecutionPlan& plan, std::string* text) {
  const auto size = plan.source->size();
  absl::StrAppendFormat(text, "  %-28s %-7s %s\n", plan.source_node, "io",
                        size ? absl::StrCat(*size, " samples, ", plan.chain.input.ToString())
                             : absl::StrCat("unbounded, ", plan.chain.input.ToString()));
}

void AppendLinks(const PlannedOutput& output, std::string* text) {
  const ExecutionPlan& plan = output.plan;
  for (size_t i = 0; i <= plan.chain.links.size(); ++i) {
    if (i == plan.chain.cut) {
      absl::StrAppendFormat(text, "  %-28s %-7s batch of %d, %s\n", "collate, upload", "copy",
                            plan.batch_size,
                            plan.tail == Tail::kDrop ? "rest dropped" : "last one may be smaller");
    }
    if (i == plan.chain.links.size()) break;
    const ChainLink& link = plan.chain.links[i];
    absl::StrAppendFormat(text, "  %-28s %-7s %s%s\n", link.node, Side(output, i),
                          link.out.ToString(), link.stage->is_random() ? ", random" : "");
  }
}

const char* PlaceText(CachePlace place) {
  return place == CachePlace::kDevice   ? "device memory"
         : place == CachePlace::kPinned ? "pinned memory"
                                        : "host memory";
}

void AppendCache(const PlannedOutput& output, std::string* text) {
  const CachePlan& rows = output.plan.cache;
  const EncodedCachePlan& encoded = output.plan.encoded_cache;
  if (rows.samples > 0) {
    absl::StrAppendFormat(text, "  %-28s %-7s %d of %d samples in %s, %s%s\n", "cache", "",
                          rows.samples, *output.plan.source->size(), PlaceText(rows.place),
                          BytesText(static_cast<int64_t>(rows.bytes())),
                          rows.map_file ? ", where the file is mapped" : "");
  } else if (encoded.bytes > 0) {
    absl::StrAppendFormat(text, "  %-28s %-7s encoded, as they come by, in %s, %s\n", "cache", "",
                          PlaceText(encoded.place), BytesText(static_cast<int64_t>(encoded.bytes)));
  } else {
    return;
  }
  absl::StrAppend(text, "    because: ", output.note.cache_why, "\n");
}

void AppendSteps(const char* title, const std::vector<DeviceStep>& steps, std::string* text) {
  if (steps.empty()) return;
  absl::StrAppend(text, title);
  for (const DeviceStep& step : steps) absl::StrAppend(text, " [", step.name, "]");
  absl::StrAppend(text, "\n");
}

}  // namespace

std::string PlanReport(const PlannedOutput& output) {
  const ExecutionPlan& plan = output.plan;
  std::string text = absl::StrCat("output '", plan.name, "'\n");
  AppendSource(plan, &text);
  AppendCache(output, &text);
  AppendLinks(output, &text);
  if (plan.gather != nullptr) {
    absl::StrAppend(&text, "device step of all samples: [gather",
                    plan.chain.links.empty() ? "" : "+", plan.Names(0, plan.chain.links.size()),
                    "]\n");
  }
  AppendSteps("device steps of encoded samples:", plan.whole, &text);
  AppendSteps("device steps of finished samples:", plan.behind, &text);
  absl::StrAppend(&text, "stages before Collate run on the ",
                  output.note.on_device ? "device" : "host");
  if (!output.note.why.empty()) absl::StrAppend(&text, ": ", output.note.why);
  absl::StrAppend(&text, "\nhost writes per uploaded byte: ",
                  plan.only_launches() ? 0 : 1 + static_cast<int>(plan.batch_steps.size()), "\n");
  absl::StrAppendFormat(&text, "order: %s, seed %d, rank %d of %d\n",
                        plan.shuffle ? "shuffled" : "as the source numbers them", plan.seed,
                        plan.rank, plan.world);
  absl::StrAppend(&text, "memory: ", plan.seats, " batches in flight",
                  plan.devices > 1 ? absl::StrCat(" on each of ", plan.devices, " devices") : "",
                  "\n");
  absl::StrAppend(&text, plan.memory == HostMemory::kPinned ? "  pinned   " : "  pageable ",
                  BytesText(plan.host_bytes()),
                  plan.or_pageable ? ", pageable where that is refused\n" : "\n");
  absl::StrAppend(&text, "  device   ", BytesText(plan.device_bytes()), ", ", plan.streams,
                  " streams");
  if (plan.all_arena_bytes() > 0) {
    absl::StrAppend(&text, " with ", BytesText(plan.arena_bytes + plan.scratch_bytes),
                    " of scratch each");
  }
  absl::StrAppend(&text, "\n");
  return text;
}

}  // namespace penstock
