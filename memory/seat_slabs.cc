#include "penstock/memory/seat_slabs.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// Less is not worth a second thread.
constexpr size_t kOverlapFrom = size_t{256} << 20;

// Neighbouring seats whose host slabs are one allocation.
struct Group {
  int begin = 0, end = 0;
  absl::StatusOr<Buffer> buffer = Buffer();
};

std::string Seats(int begin, int end, int of) {
  if (end - begin == 1) return absl::StrCat("seat ", end, " of ", of);
  return absl::StrCat("seats ", begin + 1, " to ", end, " of ", of);
}

std::vector<Group> MakeGroups(const SlabOptions& options, size_t stride) {
  const size_t fit = stride > 0 ? options.group_bytes / stride : options.seats;
  const int most = static_cast<int>(std::clamp<size_t>(fit, 1, options.seats));
  std::vector<Group> groups;
  for (int begin = 0; begin < options.seats; begin += most) {
    groups.push_back({begin, std::min(begin + most, options.seats)});
  }
  return groups;
}

// None where there are no more: slower, but just as good.
template <class Work>
std::thread TryThread(const Work& work) {
  try {
    return std::thread(work);
  } catch (const std::system_error&) {
    return {};
  }
}

// Two at a time: one group is touched while another is page-locked.
void AllocateGroups(Device& device, HostMemory memory, size_t stride, std::vector<Group>& groups) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (size_t i = next++; i < groups.size() && !failed; i = next++) {
      Group& group = groups[i];
      group.buffer = device.AllocateHost(stride * (group.end - group.begin), memory);
      if (!group.buffer.ok()) failed = true;
    }
  };
  std::thread second;
  const size_t bytes = stride * groups.back().end;
  if (groups.size() > 1 && bytes >= kOverlapFrom) {
    second = TryThread(work);
  }
  work();
  if (second.joinable()) second.join();
}

absl::Status AllocateHostSlabs(Device& device, const SlabOptions& options, HostMemory memory,
                               SeatSlabs& slabs) {
  const size_t stride = AlignUp(options.layout.host_bytes(), kSlabAlignment);
  std::vector<Group> groups = MakeGroups(options, stride);
  AllocateGroups(device, memory, stride, groups);
  for (const Group& group : groups) {
    if (group.buffer.ok()) continue;
    return Prefixed(Seats(group.begin, group.end, options.seats), group.buffer.status());
  }
  for (Group& group : groups) {
    std::byte* const first = group.buffer->data();
    for (int seat = group.begin; seat < group.end; ++seat) {
      slabs.host.push_back(first == nullptr ? nullptr : first + stride * (seat - group.begin));
    }
    slabs.buffers.push_back(*std::move(group.buffer));
  }
  slabs.memory = memory;
  return absl::OkStatus();
}

absl::Status AllocateDeviceSlabs(Device& device, const SlabOptions& options, SeatSlabs& slabs) {
  for (int seat = 0; seat < options.seats; ++seat) {
    absl::StatusOr<Buffer> buffer = device.AllocateDevice(options.layout.device_bytes());
    if (!buffer.ok()) return Prefixed(Seats(seat, seat + 1, options.seats), buffer.status());
    slabs.device.push_back(buffer->data());
    slabs.buffers.push_back(*std::move(buffer));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SeatSlabs> AllocateSlabs(Device& device, const SlabOptions& options) {
  SeatSlabs slabs;
  const absl::Time start = absl::Now();
  absl::Status status = AllocateHostSlabs(device, options, options.memory, slabs);
  if (!status.ok() && options.or_pageable && options.memory == HostMemory::kPinned) {
    slabs.refused =
        std::exchange(status, AllocateHostSlabs(device, options, HostMemory::kPageable, slabs));
  }
  PENSTOCK_RETURN_IF_ERROR(status);
  slabs.host_time = absl::Now() - start;
  PENSTOCK_RETURN_IF_ERROR(AllocateDeviceSlabs(device, options, slabs));
  return slabs;
}

}  // namespace penstock
