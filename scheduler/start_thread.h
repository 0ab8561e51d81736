// StartThread: a thread that cannot be started is a Status.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace penstock {

// `thread` runs `body`. ResourceExhausted: the system starts no more threads; `what` names this
// one.
absl::Status StartThread(std::thread& thread, absl::string_view what, std::function<void()> body);

}  // namespace penstock
