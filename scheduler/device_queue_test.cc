#include "penstock/scheduler/device_queue.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/memory/sim_device.h"

namespace penstock {
namespace {

// Counts what is queued on the device at a time.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class DeviceQueueTest : public ::testing::Test {
 protected:
  UploadJob Job(int64_t order, std::vector<CopyRange> copies, int64_t piece) {
    UploadJob job;
    job.order = order;
    job.stream = stream_->ref();
    job.piece_bytes = piece;
    job.copies = std::move(copies);
    job.before = [this, order] { return Note(order, "before"); };
    job.after = [this, order] { return Note(order, "after"); };
    job.done = [this, order](const absl::Status& status) {
      (void)Note(order, status.ok() ? "done" : std::string(status.message()));
      const std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_all();
    };
    return job;
  }
  absl::Status Note(int64_t order, const std::string& what) {
    const std::lock_guard lock(mutex_);
    log_.push_back(std::to_string(order) + " " + what);
    return absl::OkStatus();
  }
  void WaitForDone(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ == count; });
  }

  SimOptions options_;
  std::atomic<int> copies_{0};
  std::atomic<int> largest_{0};
  std::shared_ptr<SimDevice> device_ = [this] {
    options_.fail_copy = [this](size_t bytes, int64_t) {
      ++copies_;
      largest_ = std::max<int>(largest_, static_cast<int>(bytes));
      return fail_ ? absl::ResourceExhaustedError("injected") : absl::OkStatus();
    };
    return SimDevice::Create(options_);
  }();
  std::atomic<bool> fail_{false};
  std::unique_ptr<Stream> stream_ = *device_->CreateStream();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> log_;
  int done_ = 0;
};

TEST_F(DeviceQueueTest, CopiesEveryByteInPiecesBetweenBeforeAndAfter) {
  std::vector<std::byte> from(1000), to(1000);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
  const auto queue = *DeviceQueue::Create(device_);
  queue->Submit(Job(1, {{to.data(), from.data(), 700}, {to.data() + 700, from.data() + 700, 300}},
                    /*piece=*/256));
  WaitForDone(1);
  ASSERT_TRUE(device_->Synchronize(stream_->ref()).ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(copies_, 5);  // 256 + 256 + 188, 256 + 44.
  EXPECT_EQ(largest_, 256);
  EXPECT_EQ(log_, (std::vector<std::string>{"1 before", "1 after", "1 done"}));
}

// Of jobs whose streams work for long, one may wait there with its copy; jobs of other streams pass
// them.
TEST_F(DeviceQueueTest, LongWorkOfAStreamHoldsBackNoOther) {
  const std::unique_ptr<Stream> other = *device_->CreateStream();
  std::vector<std::byte> from(100, std::byte{7}), to(100);
  Gate gate;
  const auto queue = *DeviceQueue::Create(device_);
  const auto with_work = [&](int64_t order, StreamRef stream) {
    UploadJob job = Job(order, {{to.data(), from.data(), 100}}, /*piece=*/100);
    job.stream = stream;
    job.ready = *device_->AcquireEvent();
    job.after = [&, stream] { return device_->Launch(stream, [&gate] { gate.Wait(); }); };
    job.done = [&, stream, ready = job.ready, done = job.done](const absl::Status& status) {
      ASSERT_TRUE(ready->Record(stream).ok());
      done(status);
    };
    return job;
  };
  queue->Submit(with_work(1, stream_->ref()));
  WaitForDone(1);
  // Two pieces: it may not wait in the stream. Nor may 3 go before it.
  UploadJob large = with_work(2, stream_->ref());
  large.copies.push_back({to.data(), from.data(), 50});
  queue->Submit(std::move(large));
  queue->Submit(with_work(3, stream_->ref()));
  queue->Submit(with_work(4, other->ref()));
  WaitForDone(2);
  queue->Submit(with_work(5, other->ref()));  // The one that may wait.
  WaitForDone(3);
  queue->Submit(with_work(6, other->ref()));
  for (int i = 0; i < 100; ++i) {
    queue->Wake();
    std::this_thread::yield();
  }
  {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(log_, (std::vector<std::string>{"1 before", "1 done", "4 before", "4 done",
                                              "5 before", "5 done"}));
  }
  gate.Open();
  WaitForDone(6);
  EXPECT_LT(std::find(log_.begin(), log_.end(), "2 done"),
            std::find(log_.begin(), log_.end(), "3 before"));
  ASSERT_TRUE(device_->Synchronize(stream_->ref()).ok());
  ASSERT_TRUE(device_->Synchronize(other->ref()).ok());
}

TEST_F(DeviceQueueTest, SmallRangesShareAPiece) {
  Gate gate;
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.Wait(); }).ok());
  std::vector<std::byte> from(100, std::byte{9}), to(100);
  std::vector<CopyRange> ranges;
  for (int i = 0; i < 10; ++i) ranges.push_back({to.data() + i * 10, from.data() + i * 10, 10});
  const auto queue = *DeviceQueue::Create(device_);
  queue->Submit(Job(1, ranges, /*piece=*/30));
  // Two pieces of three ranges each, while the stream is held up.
  while (copies_ < 6) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    queue->Wake();
    std::this_thread::yield();
  }
  EXPECT_EQ(copies_, 6);
  gate.Open();
  WaitForDone(1);
  ASSERT_TRUE(device_->Synchronize(stream_->ref()).ok());
  EXPECT_EQ(to, from);
  EXPECT_EQ(copies_, 10);
}

TEST_F(DeviceQueueTest, TellsWhenAnEventHasPassed) {
  const auto queue = *DeviceQueue::Create(device_);
  Gate gate;
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.Wait(); }).ok());
  const std::shared_ptr<Event> slow = *device_->AcquireEvent(), passed = *device_->AcquireEvent();
  ASSERT_TRUE(slow->Record(stream_->ref()).ok());
  const auto note = [this](int64_t order) {
    return [this, order](const absl::Status& status) {
      (void)Note(order, status.ok() ? "passed" : std::string(status.message()));
      const std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_all();
    };
  };
  queue->Await(slow, note(1));
  queue->Await(passed, note(2));
  WaitForDone(1);
  gate.Open();
  WaitForDone(2);
  EXPECT_EQ(log_, (std::vector<std::string>{"2 passed", "1 passed"}));
  ASSERT_TRUE(
      device_->Launch(stream_->ref(), [&] { device_->Fail(absl::DataLossError("gone")); }).ok());
  (void)device_->Synchronize(stream_->ref());
  queue->Await(slow, note(3));
  WaitForDone(3);
  EXPECT_EQ(log_.back(), "3 gone");
}

TEST_F(DeviceQueueTest, AtMostTwoPiecesAreQueued) {
  Gate gate;
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.Wait(); }).ok());
  std::vector<std::byte> from(100), to(100);
  const auto queue = *DeviceQueue::Create(device_);
  queue->Submit(Job(1, {{to.data(), from.data(), 100}}, /*piece=*/10));
  // The stream is held up: two pieces go out and no third one, however often the queue looks.
  while (copies_ < 2) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    queue->Wake();
    std::this_thread::yield();
  }
  EXPECT_EQ(copies_, 2);
  gate.Open();
  WaitForDone(1);
  EXPECT_EQ(copies_, 10);
}

TEST_F(DeviceQueueTest, WaitingJobsGoLowestFirst) {
  Gate gate;
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.Wait(); }).ok());
  std::vector<std::byte> bytes(40), to(40);
  {
    const auto queue = *DeviceQueue::Create(device_);
    queue->Submit(Job(1, {{to.data(), bytes.data(), 40}}, 10));
    while (copies_ < 2) std::this_thread::yield();
    queue->Submit(Job(9, {}, 10));
    queue->Submit(Job(4, {}, 10));
    gate.Open();
  }  // Finishes what was submitted.
  EXPECT_EQ(log_, (std::vector<std::string>{"1 before", "1 after", "1 done", "4 before", "4 after",
                                            "4 done", "9 before", "9 after", "9 done"}));
}

TEST_F(DeviceQueueTest, FailedCopyEndsItsJobAlone) {
  std::vector<std::byte> from(10), to(10);
  const auto queue = *DeviceQueue::Create(device_);
  fail_ = true;
  queue->Submit(Job(1, {{to.data(), from.data(), 10}}, 10));
  WaitForDone(1);
  fail_ = false;
  queue->Submit(Job(2, {{to.data(), from.data(), 10}}, 10));
  WaitForDone(2);
  EXPECT_EQ(log_,
            (std::vector<std::string>{"1 before", "1 injected", "2 before", "2 after", "2 done"}));
}

TEST_F(DeviceQueueTest, SeatsComeBackAsTheirEventsPass) {
  SlabLayout layout;
  layout.batch = 1;
  auto pool = *SeatPool::Create(device_, layout, 2, HostMemory::kPageable);
  const auto queue = *DeviceQueue::Create(device_);
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  queue->Watch(pool, [&] {
    const std::lock_guard lock(mutex);
    ++calls;
    changed.notify_all();
  });
  Seat* const first = pool->TryAcquire();
  Seat* const second = pool->TryAcquire();
  Gate gate;
  ASSERT_TRUE(device_->Launch(stream_->ref(), [&gate] { gate.Wait(); }).ok());
  auto slow = *device_->AcquireEvent();
  ASSERT_TRUE(slow->Record(stream_->ref()).ok());
  pool->Return(first, {slow});
  pool->Return(second, {*device_->AcquireEvent()});  // Never recorded: done.
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return calls >= 1; });
  }
  EXPECT_EQ(pool->TryAcquire(), second);
  EXPECT_EQ(pool->TryAcquire(), nullptr);
  gate.Open();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return calls >= 2; });
  }
  EXPECT_EQ(pool->TryAcquire(), first);
  queue->Unwatch(pool.get());
  pool->Return(first, {});
  pool->Return(second, {});
}

}  // namespace
}  // namespace penstock
