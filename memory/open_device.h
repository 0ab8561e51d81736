// Devices by name: what `--device` takes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "penstock/memory/device.h"
#include "penstock/memory/sim_device.h"

namespace penstock {

// What a name of OpenDevice() asks for.
struct DeviceName {
  enum class Form : uint8_t { kAuto, kCuda, kHost, kSim };
  Form form = Form::kAuto;
  std::optional<int> ordinal;  // N of "cuda:N".
};

// Takes the names that OpenDevice() takes, with its error for others; whether there is such a
// device is not asked.
absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view name);

// Opens a device:
//   auto     as `cuda`, but `host` where there is no CUDA driver (no libcuda.so.1); `*warning` then
//   gets
//            one line. A driver that shows no usable device is an error, never a quiet run on the
//            host.
//   cuda     the calling thread's current CUDA device (0, unless it chose another)
//   cuda:N   the N-th of the visible CUDA devices, from 0
//   host     the CPU, with no model of time (of `sim`, only the fault hooks count)
//   sim      the CPU, as `sim` says
// `warning` may be null. Each call makes a new Device, with pools of its own. Leaves the caller's
// current CUDA device and context as they are. Thread-safe.
//
// Errors: InvalidArgument for a name or options that no machine has, or a device number that this
// one has not; FailedPrecondition where there is no driver, no usable device, or no CUDA in this
// build.
absl::StatusOr<std::shared_ptr<Device>> OpenDevice(absl::string_view name,
                                                   const SimOptions& sim = {},
                                                   std::string* warning = nullptr);

// Several, by names with commas between them: "cuda:0,cuda:1", "sim,sim". Each is opened as above,
// in that order; the first error ends it.
absl::StatusOr<std::vector<std::shared_ptr<Device>>> OpenDevices(absl::string_view names,
                                                                 const SimOptions& sim = {},
                                                                 std::string* warning = nullptr);

// The calling thread's current CUDA device: OpenDevice("cuda").
absl::StatusOr<std::shared_ptr<Device>> CurrentCudaDevice();

}  // namespace penstock
