#include "penstock/tools/signals.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

namespace penstock {
namespace {

// Some senders (timeout(1), batch systems) signal a process and then its group: that is one signal,
// not the impatience of a second.
constexpr auto kSameSignal = std::chrono::milliseconds(100);

}  // namespace

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
  std::optional<std::chrono::steady_clock::time_point> first;
  for (;;) {
    int signal = 0;
    sigwait(&watched_, &signal);
    if (stop.stop_requested()) return;
    const auto now = std::chrono::steady_clock::now();
    if (first && now - *first < kSameSignal) continue;
    if (first) _exit(128 + signal);
    first = now;
    on_first_(signal);
  }
}

}  // namespace penstock
