// SpinLock: a lock that is tried for a moment before the thread sleeps for it.
#pragma once

#include <mutex>

namespace penstock {

// Locks `mutex`, as std::unique_lock(mutex) does. For mutexes that are held for less than a
// microsecond and asked for every few: to sleep, and to be woken, takes ten times as long, and two
// threads that have begun to do so keep on.
inline std::unique_lock<std::mutex> SpinLock(std::mutex& mutex) {
  constexpr int kTries = 200;
  std::unique_lock lock(mutex, std::defer_lock);
  for (int i = 0; i < kTries; ++i) {
    if (lock.try_lock()) return lock;
    __builtin_ia32_pause();
  }
  lock.lock();
  return lock;
}

}  // namespace penstock
