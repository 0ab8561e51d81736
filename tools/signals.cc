#include "penstock/tools/signals.h"

#include <unistd.h>

#include <utility>

namespace penstock {

SignalWatch::SignalWatch(std::function<void(int signal)> on_first)
    : on_first_(std::move(on_first)) {
  sigemptyset(&watched_);
  sigaddset(&watched_, SIGINT);
  sigaddset(&watched_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  thread_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
}

SignalWatch::~SignalWatch() {
  thread_.request_stop();
  pthread_kill(thread_.native_handle(), SIGINT);  // Wakes it.
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalWatch::Watch(const std::stop_token& stop) {
  for (bool first = true;; first = false) {
    int signal = 0;
    sigwait(&watched_, &signal);
    if (stop.stop_requested()) return;
    if (!first) _exit(128 + signal);
    on_first_(signal);
  }
}

}  // namespace penstock
