// ForkGuard: notices that it is in a child process. A child has none of its parent's threads, and
// may not use its CUDA.
#pragma once

#include <sys/types.h>
#include <unistd.h>

namespace penstock {

class ForkGuard {
 public:
  // True in every process but the one that made this object. Costs a system call.
  bool forked() const { return getpid() != made_in_; }

 private:
  pid_t made_in_ = getpid();
};

}  // namespace penstock
