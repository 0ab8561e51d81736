// The CUDA driver, found at run time: no link to libcuda and no CUDA header. So one binary runs
// with and without a driver, and a build without CUDA can tell which it is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

// Trivially copyable; thread-safe. The library stays loaded until the process ends: a driver does
// not like to be unloaded.
class Libcuda {
 public:
  // Loads libcuda.so.1. FailedPrecondition, with the loader's words, where there is none.
  static absl::StatusOr<Libcuda> Open();

  // Initialises the driver (once for the process; it makes no context) and returns how many devices
  // it shows, at least 1. FailedPrecondition where it shows no usable one.
  absl::StatusOr<int> CountDevices() const;

  // A function of the driver by its name in the library (with _v2 where that is so), or null.
  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(FindAddress(name));
  }

  // "CUDA_ERROR_NO_DEVICE(100)".
  std::string ErrorName(int error) const;

 private:
  explicit Libcuda(void* library) : library_(library) {}
  void* FindAddress(const char* name) const;

  void* library_;
};

// "CUDA_VISIBLE_DEVICES=0,1", or "CUDA_VISIBLE_DEVICES is not set": for messages about devices.
std::string VisibleDevices();

}  // namespace penstock
