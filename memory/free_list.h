// FreeList: objects that are made once and used again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/memory/spin_lock.h"

namespace penstock {

// Keeps what is given to it until somebody takes it. Thread-safe.
template <class T>
class FreeList {
 public:
  // Null if the list is empty: the caller then makes one.
  std::unique_ptr<T> TryTake() {
    const auto lock = SpinLock(mutex_);
    if (free_.empty()) return nullptr;
    std::unique_ptr<T> object = std::move(free_.back());
    free_.pop_back();
    return object;
  }
  void Give(std::unique_ptr<T> object) {
    const auto lock = SpinLock(mutex_);
    free_.push_back(std::move(object));
  }
  size_t size() const {
    const auto lock = SpinLock(mutex_);
    return free_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace penstock
