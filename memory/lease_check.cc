#include "penstock/memory/lease_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr size_t kWindow = size_t{4} << 20;

std::string Name(StreamRef stream) {
  if (stream == StreamRef::PerThreadDefault()) return "the per-thread default stream";
  if (stream.is_default()) return "the legacy default stream";
  return absl::StrFormat("stream %p", stream.handle());
}

// Where `bytes` first differ from the pattern.
std::optional<size_t> FindOther(const std::byte* bytes, size_t count) {
  const std::byte* const end = bytes + count;
  const std::byte* const other =
      std::find_if(bytes, end, [](std::byte byte) { return byte != LeaseCheck::kPoison; });
  if (other == end) return std::nullopt;
  return static_cast<size_t>(other - bytes);
}

void Fill(std::byte* bytes, size_t count) {
  if (count > 0) std::memset(bytes, std::to_integer<int>(LeaseCheck::kPoison), count);
}

}  // namespace

LeaseCheck::LeaseCheck(std::shared_ptr<Device> device, const SlabLayout& layout, int seats,
                       std::string node)
    : device_(std::move(device)),
      host_bytes_(layout.host_bytes()),
      device_bytes_(layout.device_bytes()),
      node_(std::move(node)),
      ended_(static_cast<size_t>(seats)) {}

absl::StatusOr<std::unique_ptr<LeaseCheck>> LeaseCheck::Create(std::shared_ptr<Device> device,
                                                               const SlabLayout& layout, int seats,
                                                               std::string node) {
  std::unique_ptr<LeaseCheck> check(
      new LeaseCheck(std::move(device), layout, seats, std::move(node)));
  PENSTOCK_ASSIGN_OR_RETURN(check->stream_, check->device_->CreateStream());
  // Pageable: it counts for nothing in a plan of pinned memory.
  PENSTOCK_ASSIGN_OR_RETURN(
      check->window_,
      check->device_->AllocateHost(std::min(kWindow, check->device_bytes_), HostMemory::kPageable));
  return check;
}

absl::Status LeaseCheck::Poison(const Seat& seat, Lease lease) {
  Fill(seat.host, host_bytes_);
  const std::lock_guard lock(mutex_);
  Fill(window_.data(), window_.size());
  for (size_t at = 0; at < device_bytes_; at += window_.size()) {
    PENSTOCK_RETURN_IF_ERROR(device_->CopyToDevice(seat.device + at, window_.data(),
                                                   std::min(window_.size(), device_bytes_ - at),
                                                   stream_->ref()));
  }
  PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(stream_->ref()));
  ended_[static_cast<size_t>(seat.index)] = std::move(lease);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<size_t>> LeaseCheck::FindOnDevice(const Seat& seat) {
  for (size_t at = 0; at < device_bytes_; at += window_.size()) {
    const size_t bytes = std::min(window_.size(), device_bytes_ - at);
    PENSTOCK_RETURN_IF_ERROR(
        device_->CopyToHost(window_.data(), seat.device + at, bytes, stream_->ref()));
    PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(stream_->ref()));
    if (const auto other = FindOther(window_.data(), bytes)) return at + *other;
  }
  return std::nullopt;
}

absl::Status LeaseCheck::Verify(const Seat& seat) {
  const std::lock_guard lock(mutex_);
  const std::optional<Lease> lease =
      std::exchange(ended_[static_cast<size_t>(seat.index)], std::nullopt);
  if (!lease) return absl::OkStatus();
  if (const auto other = FindOther(seat.host, host_bytes_)) {
    return Blame(*lease, "host", *other, seat.host[*other]);
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::optional<size_t> other, FindOnDevice(seat));
  if (!other) return absl::OkStatus();
  return Blame(*lease, "device", *other, window_.data()[*other % window_.size()]);
}

absl::Status LeaseCheck::Blame(const Lease& lease, const char* slab, size_t offset,
                               std::byte found) const {
  const auto append_name = [](std::string* out, StreamRef stream) { out->append(Name(stream)); };
  const std::string streams =
      lease.streams.empty() ? "no stream" : absl::StrJoin(lease.streams, " and ", append_name);
  const std::string batch =
      lease.batch < 0 ? "a batch that failed" : absl::StrCat("batch ", lease.batch);
  return absl::FailedPreconditionError(absl::StrFormat(
      "node '%s', %s: its %s memory was written after it was given back: byte %d is 0x%02x, "
      "expected 0x%02x; %s waited for it. Call WaitOn() for every stream that uses a batch, and "
      "release it behind the last use",
      node_, batch, slab, offset, std::to_integer<int>(found), std::to_integer<int>(kPoison),
      streams));
}

}  // namespace penstock
