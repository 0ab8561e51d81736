#include "penstock/scheduler/start_thread.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

absl::Status StartThread(std::thread& thread, absl::string_view what, std::function<void()> body) {
  try {
    thread = std::thread(std::move(body));
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot start ", what, ": ", error.what(),
        "; lower --threads, or raise the limit on threads (ulimit -u, ulimit -v, pids.max)"));
  }
}

}  // namespace penstock
