#include "penstock/scheduler/io_pool.h"

#include <pthread.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/cpu_set.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/start_thread.h"

namespace penstock {

absl::StatusOr<std::shared_ptr<IoPool>> IoPool::Create(int threads, const std::vector<int>& cpus) {
  std::shared_ptr<IoPool> pool(new IoPool);
  for (int i = 0; i < threads; ++i) {
    std::thread thread;
    PENSTOCK_RETURN_IF_ERROR(StartThread(thread,
                                         absl::StrCat("I/O thread ", i + 1, " of ", threads),
                                         [p = pool.get()] { p->Run(); }));
    (void)pthread_setname_np(thread.native_handle(), "penstock-io");
    BindThread(thread.native_handle(), cpus);
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

IoPool::~IoPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void IoPool::Submit(std::vector<Job> jobs) {
  const bool several = jobs.size() > 1;
  {
    const std::lock_guard lock(mutex_);
    std::move(jobs.begin(), jobs.end(), std::back_inserter(jobs_));
  }
  if (several) {
    changed_.notify_all();
  } else {
    changed_.notify_one();
  }
}

void IoPool::Run() {
  FileReader reader;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(reader);
    lock.lock();
  }
}

}  // namespace penstock
