// IoPool: the only threads that may block on files.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/stages/read/file_reader.h"

namespace penstock {

// `threads` threads that run jobs first come, first served; each has a FileReader of its own.
// Threads sleep when there is nothing to do. The kernel shows them as "penstock-io". The destructor
// runs what is queued, then joins.
class IoPool {
 public:
  using Job = std::function<void(FileReader& reader)>;

  // The threads are bound to `cpus`, unless there are none or the kernel refuses (BindThread()).
  // ResourceExhausted: not all threads can be started.
  static absl::StatusOr<std::shared_ptr<IoPool>> Create(int threads,
                                                        const std::vector<int>& cpus = {});
  ~IoPool();
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // Thread-safe; never blocks on I/O.
  void Submit(std::vector<Job> jobs);
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  IoPool() = default;
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace penstock
