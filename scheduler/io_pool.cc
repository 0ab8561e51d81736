#include "penstock/scheduler/io_pool.h"

#include <iterator>
#include <utility>

namespace penstock {

IoPool::IoPool(int threads) {
  threads_.reserve(threads);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
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
  several ? changed_.notify_all() : changed_.notify_one();
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
