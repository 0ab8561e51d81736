// Batches: HostBatch before upload, DeviceBatch in the consumer's hands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "penstock/memory/device.h"
#include "penstock/memory/seat_pool.h"
#include "penstock/memory/tensor_view.h"

namespace penstock {

// What is known of a batch besides its bytes. By row where it is a vector.
struct BatchInfo {
  // 0, 1, 2, ... from epoch 0 on, all devices together: `epoch` times batches an epoch, plus the
  // batch's place in it.
  int64_t sequence = 0;
  int64_t epoch = 0;
  int64_t valid = 0;  // Rows with a good sample: shape[0] less the marked ones.
  std::vector<int64_t> ids;
  std::vector<std::string> tags;     // What pushed samples were given; empty for other sources.
  std::vector<absl::Status> status;  // Empty when every row is good; else one a row.

  // A sample's name for people, by its id; thread-safe. Shared by all batches of a source.
  using KeyOf = std::function<std::string(int64_t id)>;
  std::shared_ptr<const KeyOf> key_of;
  // A file's relative path, say.
  std::string key(int64_t row) const {
    return key_of == nullptr ? "" : (*key_of)(ids[static_cast<size_t>(row)]);
  }
};

// A batch in its slab, before upload: what a BatchStage works on.
struct HostBatch {
  const BatchInfo* info = nullptr;
  std::vector<std::pair<std::string, TensorView>> tensors;  // Host memory; rows are shape[0].
};

// The time stamps of one batch's way through the device, for the measured overlap. Shared between
// the scheduler, which makes all four (or leaves some null), and the batch; each event is recorded
// by one of them. The batch's are ready to be read once the seat has been returned; they are never
// recorded if the batch was never waited on by a stream.
struct BatchTiming {
  // Scheduler, on the upload stream; the device steps run from copy_end to steps_end.
  std::shared_ptr<TimingEvent> copy_start, copy_end, steps_end;
  std::shared_ptr<TimingEvent> work_start, work_end;  // Batch, on the first stream that waits.
};

// A batch on the device. Move-only, thread-compatible; may be released on any thread (but see
// WaitOn()) and may outlive its Pipeline. Destruction is Release(). After Release() or a move
// nothing but assignment, Release(), info(), size() and status() may be called.
//
//   batch->WaitOn(stream);                    // cudaStreamWaitEvent; the host never stalls
//   Step(batch->tensor("image"), stream);     // valid until the batch is released
class DeviceBatch {
 public:
  DeviceBatch(std::shared_ptr<SeatPool> pool, Seat* seat, BatchInfo info,
              std::shared_ptr<Event> ready, std::vector<std::pair<std::string, TensorView>> tensors,
              std::shared_ptr<BatchTiming> timing = nullptr);
  DeviceBatch(DeviceBatch&& other) noexcept;
  DeviceBatch& operator=(DeviceBatch&& other) noexcept;
  ~DeviceBatch();

  const BatchInfo& info() const { return info_; }
  int64_t size() const { return static_cast<int64_t>(info_.ids.size()); }

  // Lets work that is put into `stream` from now on wait for this batch. May be called for several
  // streams; each must exist until the batch is released. On a SimDevice a default stream stands
  // for the calling thread, which then blocks. A device error is kept for status(). A batch that
  // waited on PerThreadDefault() must be released on that thread: no other one can name the stream.
  void WaitOn(StreamRef stream);
  // Blocks the host until the batch is there. For consumers that read it back or run on the CPU.
  absl::Status Wait();
  // OK, or the first error of the device that WaitOn(), Wait() or Release() met: the tensors may
  // hold anything then.
  const absl::Status& status() const { return status_; }

  // The tensor of that name ("image", "label", ...), row-major, until Release(). May be written. An
  // unknown name, or a call before WaitOn() or Wait(), is a mistake of the caller and fatal.
  const TensorView& tensor(absl::string_view name) const;
  const std::vector<std::pair<std::string, TensorView>>& tensors() const;

  // Gives the seat back once its upload and every stream that WaitOn() named have passed this
  // point. Neither blocks nor throws (only where the device refuses an event does it wait for the
  // stream, and the last owner of a pool waits for all its events); the second call does nothing.
  void Release();

 private:
  struct Waiter {
    StreamRef stream;
    std::thread::id thread;
  };
  void CheckHeld(absl::string_view what) const;
  void CheckReady(absl::string_view what) const;
  void Keep(absl::Status status);
  std::shared_ptr<Event> Guard(const Waiter& waiter);
  bool ReturnBehindOne(const Lease& lease);  // False: the seat is still held.

  std::shared_ptr<SeatPool> pool_;
  Seat* seat_ = nullptr;
  BatchInfo info_;
  std::shared_ptr<Event> ready_;
  std::vector<std::pair<std::string, TensorView>> tensors_;
  std::shared_ptr<BatchTiming> timing_;
  std::vector<Waiter> waiters_;
  bool waited_ = false;
  absl::Status status_;
};

}  // namespace penstock
