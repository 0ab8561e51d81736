#include "penstock/graphs/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An output of 3 seats of `row` bytes; on the device also 2 streams of 1,000 bytes of scratch.
PlannedOutput Output(size_t row, HostMemory memory = HostMemory::kPinned) {
  PlannedOutput output;
  output.plan.layout.batch = 1;
  output.plan.layout.row = row;
  output.plan.layout.outputs = 256;
  output.plan.memory = memory;
  output.plan.seats = 3;
  output.plan.scratch_bytes = 1000;
  output.plan.streams = 2;
  output.plan.batch_size = 2;
  output.note.cache_node = "keep";
  output.note.collate_node = "collate";
  output.note.upload_node = "to_device";
  return output;
}

std::vector<PlannedOutput> Outputs(PlannedOutput a) {
  std::vector<PlannedOutput> outputs;
  outputs.push_back(std::move(a));
  return outputs;
}

PlannerOptions Cuda() {
  PlannerOptions options;
  options.device = DeviceKind::kCuda;
  return options;
}

TEST(AddUpMemory, CountsAllOutputsOnAllDevices) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs.push_back(Output(1024, HostMemory::kPageable));
  PlannerOptions options = Cuda();
  MemoryNeed need = AddUpMemory(outputs, options);
  EXPECT_EQ(need.pinned, 3 * 512);
  EXPECT_EQ(need.pageable, 3 * 1024);
  EXPECT_EQ(need.device, 3 * (512 + 256) + 2000 + 3 * (1024 + 256) + 2000);
  options.devices = 4;
  need = AddUpMemory(outputs, options);
  EXPECT_EQ(need.pinned, 4 * 3 * 512);
  EXPECT_EQ(need.pageable, 4 * 3 * 1024);
  EXPECT_EQ(need.device, 10144);  // Of each.
  options.device = DeviceKind::kSim;
  EXPECT_EQ(AddUpMemory(outputs, options).pageable, 4 * (3 * 1024 + 10144));
}

TEST(AddUpMemory, CountsCaches) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs[0].plan.cache.samples = 10;
  outputs[0].plan.cache.pitch = 7;
  outputs[0].plan.cache.place = CachePlace::kPinned;
  EXPECT_EQ(AddUpMemory(outputs, Cuda()).pinned, 3 * 512 + 70);
  outputs[0].plan.cache.place = CachePlace::kHost;
  EXPECT_EQ(AddUpMemory(outputs, Cuda()).pageable, 70);
  outputs[0].plan.cache.place = CachePlace::kDevice;
  EXPECT_EQ(AddUpMemory(outputs, Cuda()).device, 3 * (512 + 256) + 2000 + 70);
}

TEST(SettleMemory, WhatIsInMemoryAlreadyCountsForTheFlagAlone) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs[0].plan.cache.samples = 10;
  outputs[0].plan.cache.pitch = 100;
  outputs[0].plan.cache.place = CachePlace::kPinned;
  PlannerOptions options = Cuda();
  options.machine.limits = {{1536, 0, "MemAvailable is 1536"}};
  EXPECT_EQ(SettleMemory(outputs, options).code(), absl::StatusCode::kResourceExhausted);
  outputs[0].plan.cache.map_file = true;
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  options.max_pinned_bytes = 2535;
  EXPECT_EQ(SettleMemory(outputs, options).code(), absl::StatusCode::kInvalidArgument);
}

// Case D04: a budget can be used to its last byte.
TEST(SettleMemory, FlagsAreExact) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  PlannerOptions options = Cuda();
  options.max_pinned_bytes = 1536;
  options.max_device_bytes = 4304;
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  options.max_pinned_bytes = 1535;
  EXPECT_EQ(SettleMemory(outputs, options),
            absl::InvalidArgumentError(
                "the plan takes 1536 bytes of host pinned memory, but max_pinned_bytes "
                "(--max_pinned) allows 1535: 1536 for 3 batches in flight; raise it, or lower "
                "batches_in_flight or collate.batch_size, or use Pin { mode: AUTO }"));
  options.max_pinned_bytes = 0;
  options.max_device_bytes = 4303;
  EXPECT_EQ(
      SettleMemory(outputs, options),
      absl::InvalidArgumentError(
          "the plan takes 4304 bytes of device memory, but max_device_bytes (--max_device) "
          "allows 4303: 2304 for 3 batches in flight, 2000 for the arenas of 2 streams; raise it, "
          "or lower batches_in_flight, collate.batch_size or to_device.streams"));
}

TEST(SettleMemory, ARefusalNamesWhatWantsTheBytesAndWhatLowersThem) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs.push_back(Output(1024));
  outputs[0].plan.name = "train";
  outputs[1].plan.name = "eval";
  outputs[1].plan.streams = 1;
  outputs[0].plan.chain.links.emplace_back().node = "decode";
  outputs[0].plan.whole.emplace_back();
  outputs[0].plan.encoded_cache.bytes = 70;
  outputs[0].plan.encoded_cache.place = CachePlace::kDevice;
  PlannerOptions options = Cuda();
  options.max_device_bytes = 1;
  EXPECT_EQ(std::string(SettleMemory(outputs, options).message()),
            "the plan takes 9214 bytes of device memory, but max_device_bytes (--max_device) "
            "allows 1: 2304 for 3 batches in flight of 'train', 2000 for the arenas of 2 streams "
            "of 'train', 70 for a Cache of 'train', 3840 for 3 batches in flight of 'eval', 1000 "
            "for the arena of 1 stream of 'eval'; raise it, or lower batches_in_flight, "
            "collate.batch_size, to_device.streams or keep.bytes, or use decode.device=HOST or "
            "keep.place=PINNED");
  outputs.pop_back();
  outputs[0].plan.encoded_cache.place = CachePlace::kPinned;
  options.max_device_bytes = 0;
  options.max_pinned_bytes = 1;
  options.devices = 2;
  EXPECT_EQ(
      std::string(SettleMemory(outputs, options).message()),
      "the plan takes 3212 bytes of host pinned memory, but max_pinned_bytes (--max_pinned) "
      "allows 1: 1536 for 3 batches in flight, 70 for a Cache, for each of 2 devices; raise "
      "it, or lower batches_in_flight, collate.batch_size or keep.bytes, or use Pin { mode: AUTO } "
      "or keep.place=HOST");
}

TEST(SettleMemory, ARefusalNamesNothingThatIsAsLowAsItGets) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  ExecutionPlan& plan = outputs[0].plan;
  plan.seats = plan.streams = 1;
  plan.batch_size = 1;
  plan.cache = {.place = CachePlace::kDevice, .samples = 1, .pitch = 70};
  PlannerOptions options = Cuda();
  options.max_device_bytes = 1;
  EXPECT_EQ(std::string(SettleMemory(outputs, options).message()),
            "the plan takes 1838 bytes of device memory, but max_device_bytes (--max_device) "
            "allows 1: 768 for 1 batch in flight, 1000 for the arena of 1 stream, 70 for a Cache; "
            "raise it, or use keep.place=PINNED");
  plan.cache = {};
  EXPECT_THAT(std::string(SettleMemory(outputs, options).message()),
              HasSubstr("1000 for the arena of 1 stream; raise it"));
}

PlannedOutput WithStage(int64_t stage_rows) {
  PlannedOutput output = Output(512);
  output.plan.cache = {
      .place = CachePlace::kDevice, .samples = 100, .pitch = 10, .stage_rows = stage_rows};
  return output;
}

// It is given back before the next one is made: on another device, or of another output.
TEST(AddUpMemory, CountsTheLargestStageOfACacheOnce) {
  std::vector<PlannedOutput> outputs = Outputs(WithStage(20));
  outputs.push_back(WithStage(30));
  PlannerOptions options = Cuda();
  options.devices = 2;
  EXPECT_EQ(AddUpMemory(outputs, options).pinned, 2 * 2 * 3 * 512 + 2 * 30 * 10);
}

TEST(SettleMemory, TheStageOfACacheTakesWhatIsLeft) {
  const auto rows = [](int64_t flag, int64_t machine) {
    std::vector<PlannedOutput> outputs = Outputs(WithStage(20));
    PlannerOptions options = Cuda();
    options.max_pinned_bytes = flag;
    if (machine > 0) options.machine.limits = {{machine, 0, "MemAvailable"}};
    EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
    return outputs[0].plan.cache.stage_rows;
  };
  EXPECT_EQ(rows(0, 0), 20);
  EXPECT_EQ(rows(1536 + 400, 0), 20);
  EXPECT_EQ(rows(1536 + 399, 0), 19);
  EXPECT_EQ(rows(1536 + 400, 1536 + 100), 5);
  EXPECT_EQ(rows(1536 + 20, 0), 1);
  std::vector<PlannedOutput> outputs = Outputs(WithStage(20));
  PlannerOptions options = Cuda();
  options.devices = 2;
  options.max_pinned_bytes = 2 * 1536 + 19;
  EXPECT_THAT(std::string(SettleMemory(outputs, options).message()),
              HasSubstr("takes 3092 bytes of host pinned memory, but max_pinned_bytes "
                        "(--max_pinned) allows 3091: 1536 for 3 batches in flight, for each of 2 "
                        "devices, 20 for the stage of a Cache; raise it"));
}

TEST(SettleMemory, SeatsThatNobodyAskedForGiveWay) {
  const auto seats = [](int64_t flag, int64_t free, int64_t pinned) {
    PlannedOutput output = Output(512);
    output.plan.seats = 32;
    output.plan.least_seats = 4;
    std::vector<PlannedOutput> outputs = Outputs(output);
    PlannerOptions options = Cuda();
    options.max_device_bytes = flag;
    options.free_device_bytes = free;
    options.max_pinned_bytes = pinned;
    EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
    return outputs[0].plan.seats;
  };
  EXPECT_EQ(seats(0, 0, 0), 32);
  EXPECT_EQ(seats(32 * 768 + 2000, 0, 0), 32);
  EXPECT_EQ(seats(32 * 768 + 1999, 0, 0), 31);
  EXPECT_EQ(seats(0, 7 * 768 + 2000, 0), 7);
  EXPECT_EQ(seats(9 * 768 + 2000, 0, 5 * 512), 5);
  EXPECT_EQ(seats(4 * 768 + 2000, 0, 0), 4);
  EXPECT_EQ(seats(0, 1, 0), 4);  // What is free is no limit: the driver has the last word.
}

// Case D17: the pool has to fit into what the container leaves, and the message says which limit.
TEST(SettleMemory, TheMachineRefusesWithItsOwnLimit) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  PlannerOptions options = Cuda();
  options.machine.limits = {{5000, 0, "MemAvailable is 5000"},
                            {1536, 0, "memory.max is 2000, of which 464 are used"}};
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  options.machine.limits[1].bytes = 1535;
  EXPECT_EQ(SettleMemory(outputs, options),
            absl::ResourceExhaustedError(
                "the plan takes 1536 bytes of host pinned memory, but this process can have 1535: "
                "memory.max is 2000, of which 464 are used; raise that limit, or lower "
                "batches_in_flight or collate.batch_size"));
}

TEST(SettleMemory, ProcessesOfOneJobShareTheMachine) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  PlannerOptions options = Cuda();
  options.machine.limits = {{3072, 0, "MemAvailable is 3072"}};
  options.local_world = {2, "LOCAL_WORLD_SIZE"};
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  options.local_world = {3, "LOCAL_WORLD_SIZE"};
  const absl::Status status = SettleMemory(outputs, options);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("this process can have 1024: MemAvailable is 3072, shared by 3 processes "
                        "(LOCAL_WORLD_SIZE); raise"));
}

TEST(SettleMemory, OnlyPageableMemoryMayBeSwapped) {
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  PlannerOptions options = Cuda();
  options.machine.limits = {{1000, 536, "MemAvailable is 1000"}};
  EXPECT_THAT(std::string(SettleMemory(outputs, options).message()),
              HasSubstr("; raise that limit, or lower batches_in_flight or collate.batch_size, or "
                        "use Pin { mode: "
                        "AUTO }"));
  outputs = Outputs(Output(512, HostMemory::kPageable));
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  options.machine.limits[0].swap = 535;
  EXPECT_THAT(std::string(SettleMemory(outputs, options).message()),
              HasSubstr("takes 1536 bytes of host memory, but this process can have 1535"));
}

TEST(SettleMemory, WhatMayBePageableBecomesSoAndIsLogged) {
  std::vector<std::string> lines;
  PlannerOptions options = Cuda();
  options.log = [&](absl::string_view line) { lines.emplace_back(line); };
  options.max_pinned_bytes = 1536;
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs[0].plan.or_pageable = true;
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  EXPECT_EQ(outputs[0].plan.memory, HostMemory::kPinned);
  EXPECT_THAT(lines, IsEmpty());
  options.max_pinned_bytes = 1535;
  EXPECT_EQ(SettleMemory(outputs, options), absl::OkStatus());
  EXPECT_EQ(outputs[0].plan.memory, HostMemory::kPageable);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("pageable memory, which is slower to copy: the plan "
                                           "takes 1536 bytes of host pinned memory")));
  EXPECT_EQ(AddUpMemory(outputs, options).pinned, 0);
}

TEST(SettleMemory, TheFallBackHasLimitsToo) {
  PlannerOptions options = Cuda();
  options.machine.limits = {{1000, 100, "MemAvailable is 1000"}};
  std::vector<PlannedOutput> outputs = Outputs(Output(512));
  outputs[0].plan.or_pageable = true;
  EXPECT_THAT(std::string(SettleMemory(outputs, options).message()),
              HasSubstr("1536 bytes of host memory, but this process can have 1100"));
}

TEST(MemoryReport, NamesTheNearestLimit) {
  const std::vector<PlannedOutput> outputs = Outputs(Output(512));
  PlannerOptions options = Cuda();
  options.machine.limits = {{4194304, 0, "a is 4194304"}, {2097152, 0, "b is 9"}};
  options.machine.memlock = 8388608;
  const std::string need =
      "memory of all outputs: 1536 bytes (0.0 MiB) pinned, 0 bytes (0.0 MiB) pageable, 4304 bytes "
      "(0.0 MiB) on the device\n";
  const std::string memlock =
      "RLIMIT_MEMLOCK is 8388608 bytes (8.0 MiB), which binds mlock() but not CUDA's "
      "page-locking\n";
  EXPECT_EQ(MemoryReport(outputs, options),
            need + "nearest limit: b is 9, allows 2097152 bytes (2.0 MiB)\n" + memlock);
  options.local_world = {2, ""};
  options.max_pinned_bytes = 1048576;
  options.machine.memlock = std::nullopt;
  EXPECT_EQ(MemoryReport(outputs, options),
            need + "nearest limit: --max_pinned allows 1048576 bytes (1.0 MiB)\n");
  options.max_pinned_bytes = 0;
  EXPECT_EQ(MemoryReport(outputs, options),
            need +
                "nearest limit: b is 9, shared by 2 processes (local_world), allows 1048576 "
                "bytes (1.0 MiB)\n");
  EXPECT_EQ(MemoryReport(outputs, Cuda()), need);
}

}  // namespace
}  // namespace penstock
