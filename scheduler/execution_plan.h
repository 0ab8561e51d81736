// ExecutionPlan: what the planner (graphs/) hands to the scheduler. No proto, no pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penstock/memory/device.h"
#include "penstock/memory/seat.h"
#include "penstock/memory/slab.h"
#include "penstock/stages/batch_stage.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/gather_stage.h"
#include "penstock/stages/order/epoch.h"
#include "penstock/stages/plan_stage.h"
#include "penstock/stages/sample_chain.h"
#include "penstock/stages/source.h"

namespace penstock {

inline constexpr int64_t kDefaultPieceBytes = int64_t{16} << 20;
inline constexpr size_t kNoTable = ~size_t{0};
inline constexpr size_t kMaxLinks = 64;  // Sample stages of one chain.

// A field that goes straight from the source into a tensor (a label).
struct FixedField {
  int field = 0;  // Index in the sample.
  FieldSpec spec;
  size_t table = 0;
};

struct BatchStep {
  std::string node;
  std::shared_ptr<BatchStage> stage;
  uint64_t random_key = 0;
};

// One device stage and the links [begin, end) of the chain that it does.
struct DeviceStep {
  std::string name;  // "decode_image+center_crop"
  size_t begin = 0, end = 0;
  std::shared_ptr<DeviceStage> stage;
  size_t descriptors = kNoTable;  // Table offset.

  // A row's, where the host writes it. Of a step that has descriptors.
  std::byte* HostDescriptor(const Seat& seat, int row) const {
    return seat.host + descriptors + row * stage->descriptor_bytes();
  }
};

// Rows that are kept for the whole run, in the order of their ids: those of [0, samples). Filled
// before the first batch. See cache.proto.
struct CachePlan {
  CachePlace place = CachePlace::kHost;
  int64_t samples = 0;    // 0: there is no cache.
  size_t pitch = 0;       // Bytes from one row to the next.
  bool map_file = false;  // kPinned: the source's stored rows, page-locked where they are mapped.
  // kDevice: rows go up by way of a page-locked stage of two halves, of so many rows each. It is
  // given back once all are there.
  int64_t stage_rows = 0;
  size_t bytes() const { return pitch * static_cast<size_t>(samples); }
  size_t stage_bytes() const { return 2 * pitch * static_cast<size_t>(stage_rows); }
};

// Encoded samples that are kept from the first time they come by, until the memory is full. See
// cache.proto.
struct EncodedCachePlan {
  CachePlace place = CachePlace::kHost;
  size_t bytes = 0;    // Of samples, at that place; 0: there is no such cache.
  size_t records = 0;  // Of what is known of them, on the host.
};

// There is one plan. A row goes up `encoded` and runs `whole` (which tiles the chain from its first
// link), or `finished` in the slab's rows and runs `behind` (which tiles it from the cut). The host
// plan is the case in which `whole` is empty, so that every row is finished; a refused and an
// oversize row are finished rows too. With nothing behind Upload the device's rows part is the
// delivered tensor.
//
// Where samples are kept within the device's reach, `gather` runs the whole chain instead: each row
// is taken from the cache, or, if it is not kept, from the slab's encoded part, where it goes up as
// the source gave it. There are no finished rows then.
//
// One a terminal node of the graph. Immutable once made. Copies share their stages: each device of
// a run has one.
struct ExecutionPlan {
  std::string name;  // Of the terminal node.
  std::string source_node;
  std::shared_ptr<Source> source;
  SampleChain chain;
  int field = 0;  // Index in the sample of the field that the chain works on.
  std::vector<FixedField> fixed;
  std::vector<BatchStep> batch_steps;
  std::vector<DeviceStep> whole, behind;
  std::shared_ptr<GatherStage> gather;
  size_t entries = kNoTable;  // Table of the gather stage's entries.

  SlabLayout layout;
  // Table offsets in the slab; kNoTable where the device needs no such table.
  size_t encoded_rows = kNoTable, finished_rows = kNoTable;
  std::vector<size_t> params;  // By link. Without a table the numbers stay on the host.
  std::vector<size_t> views;   // By boundary: a FieldView a row.
  size_t status = kNoTable;    // What `whole` reports of each row; comes back to the host.
  // Device memory of one stream: what all rows of a wave need (see arena.h), and what one call of a
  // step needs besides.
  size_t arena_bytes = 0, scratch_bytes = 0;
  size_t least_arena_bytes = 0;  // Below it, no row could run `behind`.

  CachePlan cache;
  EncodedCachePlan encoded_cache;
  HostMemory memory = HostMemory::kPinned;
  bool or_pageable = false;  // Where page-locked memory is refused, pageable will do.
  int seats = 4;
  int least_seats = 0;  // So few will do where memory is short; 0: it must be `seats`.
  int streams = 2;
  int64_t piece_bytes = kDefaultPieceBytes;

  int64_t batch_size = 1;
  Tail tail = Tail::kPartial;
  bool shuffle = false;
  uint64_t seed = 0;
  int64_t rank = 0, world = 1;
  // The rank's batches go to its `devices` in turn; this plan is for number `device`.
  int64_t device = 0, devices = 1;
  int64_t first_epoch = 0;
  int64_t epochs = 1;  // kForever: without end.

  bool has_encoded_part() const { return !whole.empty(); }
  // Every sample is kept within the device's reach.
  bool resident() const { return gather != nullptr && cache.samples == source->size(); }
  // The device reads what the host writes by row, so that nothing of it goes up.
  bool tables_in_place() const { return gather != nullptr && memory == HostMemory::kPinned; }
  // A batch is nothing but a launch: nothing is read, nothing goes up.
  bool only_launches() const { return resident() && tables_in_place(); }
  // What a run takes for its batches, caches apart: in host memory, and on each device.
  size_t host_bytes() const { return layout.host_bytes() * seats; }
  size_t all_arena_bytes() const { return (scratch_bytes + arena_bytes) * streams; }
  size_t device_bytes() const { return layout.device_bytes() * seats + all_arena_bytes(); }
  // The delivered tensor's spec, of one sample.
  const FieldSpec& output() const { return chain.spec(chain.links.size()); }
  // "decode_image+center_crop": links [begin, end).
  std::string Names(size_t begin, size_t end) const {
    std::string names;
    for (size_t i = begin; i < end; ++i) names += (i > begin ? "+" : "") + chain.links[i].node;
    return names;
  }
};

}  // namespace penstock
