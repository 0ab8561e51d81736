// SIGINT and SIGTERM, without signal handlers.
#pragma once

#include <csignal>
#include <functional>
#include <stop_token>
#include <thread>

namespace penstock {

// While it lives, the first SIGINT or SIGTERM calls a function, on a thread of its own where all
// may be done, and the second ends the process at once, with 128 + its number.
//
// To be made before any other thread: those that are started later inherit that both are blocked.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int signal)> on_first);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  void Watch(const std::stop_token& stop);

  const std::function<void(int)> on_first_;
  sigset_t watched_, before_;
  std::jthread thread_;
};

}  // namespace penstock
