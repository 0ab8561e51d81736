// The contract of a node that shapes the plan and does no work of its own: Cache says what is kept,
// Collate gives the slab's layout, Pin its memory, Upload its streams.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "penstock/memory/device.h"
#include "penstock/stages/order/epoch.h"

namespace penstock {

// Where a Cache keeps its samples; see cache.proto.
enum class CachePlace : uint8_t { kAuto, kHost, kPinned, kDevice };

// What the nodes between the sample stages and the device settle.
struct BatchSettings {
  int64_t batch_size = 0;
  Tail tail = Tail::kPartial;
  std::vector<int64_t> shape;  // Asked of one sample; empty: whatever the stages give.
  HostMemory memory = HostMemory::kPinned;
  bool or_pageable = false;  // Where page-locked memory is refused, pageable will do.
  CachePlace cache_place = CachePlace::kAuto;
  int64_t cache_bytes = 0;  // 0: nothing is kept.
  int streams = 0;          // 0: the planner chooses.
  int64_t piece_bytes = 0;  // 0: the scheduler's default.
};

enum class PlanRole : uint8_t { kCache, kCollate, kPin, kUpload };

class PlanStage {
 public:
  virtual ~PlanStage() = default;
  virtual PlanRole role() const = 0;
  // Checks the options and writes them into `settings`. InvalidArgument names the option and its
  // range.
  virtual absl::Status Apply(const google::protobuf::Message& options,
                             BatchSettings& settings) const = 0;
};

}  // namespace penstock
