#include "penstock/memory/batch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/check.h"

namespace penstock {

DeviceBatch::DeviceBatch(std::shared_ptr<SeatPool> pool, Seat* seat, BatchInfo info,
                         std::shared_ptr<Event> ready,
                         std::vector<std::pair<std::string, TensorView>> tensors,
                         std::shared_ptr<BatchTiming> timing)
    : pool_(std::move(pool)),
      seat_(seat),
      info_(std::move(info)),
      ready_(std::move(ready)),
      tensors_(std::move(tensors)),
      timing_(std::move(timing)) {
  PENSTOCK_CHECK(pool_ != nullptr && seat_ != nullptr && ready_ != nullptr,
                 "a DeviceBatch needs a pool, a seat and an event");
}

DeviceBatch::DeviceBatch(DeviceBatch&& other) noexcept { *this = std::move(other); }

DeviceBatch& DeviceBatch::operator=(DeviceBatch&& other) noexcept {
  if (this == &other) return *this;
  Release();
  pool_ = std::move(other.pool_);
  seat_ = std::exchange(other.seat_, nullptr);
  info_ = std::move(other.info_);
  ready_ = std::move(other.ready_);
  tensors_ = std::move(other.tensors_);
  timing_ = std::move(other.timing_);
  waiters_ = std::move(other.waiters_);
  waited_ = std::exchange(other.waited_, false);
  status_ = std::exchange(other.status_, absl::OkStatus());
  return *this;
}

DeviceBatch::~DeviceBatch() { Release(); }

void DeviceBatch::Keep(absl::Status status) { status_.Update(std::move(status)); }

void DeviceBatch::CheckHeld(absl::string_view what) const {
  PENSTOCK_CHECK(seat_ != nullptr,
                 absl::StrCat(what, " of a batch that was released or moved away"));
}

void DeviceBatch::CheckReady(absl::string_view what) const {
  CheckHeld(what);
  PENSTOCK_CHECK(waited_,
                 absl::StrCat(what, " before WaitOn() or Wait(): it may not be there yet"));
}

void DeviceBatch::WaitOn(StreamRef stream) {
  CheckHeld("WaitOn()");
  Keep(ready_->Block(stream));
  const bool first = waiters_.empty();
  const bool known = std::any_of(waiters_.begin(), waiters_.end(), [stream](const Waiter& waiter) {
    return waiter.stream == stream && waiter.thread == std::this_thread::get_id();
  });
  if (!known) waiters_.push_back({stream, std::this_thread::get_id()});
  waited_ = true;
  if (first && timing_ != nullptr && timing_->work_start != nullptr) {
    Keep(timing_->work_start->Record(stream));
  }
}

absl::Status DeviceBatch::Wait() {
  CheckHeld("Wait()");
  const absl::Status status = ready_->Wait();
  Keep(status);
  waited_ = true;
  return status;
}

const TensorView& DeviceBatch::tensor(absl::string_view name) const {
  CheckReady(absl::StrCat("tensor(\"", name, "\")"));
  for (const auto& [known, view] : tensors_) {
    if (known == name) return view;
  }
  const auto append_name = [](std::string* out, const auto& tensor) { out->append(tensor.first); };
  Fatal(absl::StrCat("tensor(\"", name, "\"): this batch has ",
                     absl::StrJoin(tensors_, ", ", append_name)));
}

const std::vector<std::pair<std::string, TensorView>>& DeviceBatch::tensors() const {
  CheckReady("tensors()");
  return tensors_;
}

std::shared_ptr<Event> DeviceBatch::Guard(const Waiter& waiter) {
  PENSTOCK_CHECK(
      waiter.stream != StreamRef::PerThreadDefault() || waiter.thread == std::this_thread::get_id(),
      "a batch that waited on PerThreadDefault() was released on another thread");
  absl::StatusOr<std::shared_ptr<Event>> event = pool_->device()->AcquireEvent();
  absl::Status status = event.status();
  if (status.ok()) status = (*event)->Record(waiter.stream);
  if (status.ok()) return *std::move(event);
  Keep(std::move(status));
  // Nothing marks the consumer's work, so wait for it: on a failed device that is at once.
  Keep(pool_->device()->Synchronize(waiter.stream));
  return nullptr;
}

// What most batches need: one stream has waited, and nothing went wrong.
bool DeviceBatch::ReturnBehindOne(const Lease& lease) {
  return waiters_.size() == 1 && !waiters_.front().stream.is_default() && status_.ok() &&
         pool_->ReturnBehind(seat_, waiters_.front().stream, lease).ok();
}

void DeviceBatch::Release() {
  if (seat_ == nullptr) return;
  if (pool_->forked()) {
    // Neither the device nor the threads that would take it back are in this process.
    (void)new DeviceBatch(std::move(*this));  // NOLINT(bugprone-unused-raii)
    return;
  }
  // Before the guards, so that it has passed when the seat is free.
  if (!waiters_.empty() && timing_ != nullptr && timing_->work_end != nullptr) {
    Keep(timing_->work_end->Record(waiters_.front().stream));
  }
  timing_.reset();  // Its events are free before the seat is: the next batch needs as many.
  Lease lease;
  if (pool_->checks_leases()) {
    lease.batch = info_.sequence;
    for (const Waiter& waiter : waiters_) lease.streams.push_back(waiter.stream);
  }
  if (!ReturnBehindOne(lease)) {
    std::vector<std::shared_ptr<Event>> busy;
    for (const Waiter& waiter : waiters_) {
      if (std::shared_ptr<Event> guard = Guard(waiter)) busy.push_back(std::move(guard));
    }
    // A stream that waited for it has passed it before its guard.
    if (busy.empty() || !status_.ok()) busy.push_back(std::move(ready_));
    pool_->Return(seat_, std::move(busy), std::move(lease));
  }
  seat_ = nullptr;
  ready_.reset();
  waiters_.clear();
  tensors_.clear();
  pool_.reset();
}

}  // namespace penstock
