#include "penstock/memory/open_device.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "penstock/memory/libcuda.h"
#include "penstock/memory/open_cuda.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr absl::string_view kOnTheCpu = "--device=host runs on the CPU";

// N of "cuda:N", which is digits alone.
std::optional<int> ParseOrdinal(absl::string_view digits) {
  int ordinal = 0;
  const bool plain = digits.find_first_not_of("0123456789") == absl::string_view::npos;
  if (!plain || !absl::SimpleAtoi(digits, &ordinal)) return std::nullopt;
  return ordinal;
}

absl::Status WithHint(const absl::Status& status) {
  return absl::FailedPreconditionError(absl::StrCat(status.message(), "; ", kOnTheCpu));
}

// The number of devices, at least 1.
absl::StatusOr<int> CountCudaDevices(const Libcuda& driver) {
  const absl::StatusOr<int> count = driver.CountDevices();
  return count.ok() ? count : WithHint(count.status());
}

absl::StatusOr<std::shared_ptr<Device>> OpenOrdinal(std::optional<int> ordinal, int count) {
  if (!ordinal.has_value()) {
    PENSTOCK_ASSIGN_OR_RETURN(ordinal, CurrentCudaOrdinal());
  }
  if (*ordinal >= count) {
    return absl::InvalidArgumentError(absl::StrCat("asked for cuda:", *ordinal, ", ", count,
                                                   count == 1 ? " device is" : " devices are",
                                                   " visible (", VisibleDevices(), ")"));
  }
  return OpenCuda(*ordinal);
}

absl::StatusOr<std::shared_ptr<Device>> OpenByDriver(std::optional<int> ordinal) {
  if (!BuiltWithCuda()) return OpenCuda(0);  // Its error, whatever the driver says.
  const absl::StatusOr<Libcuda> driver = Libcuda::Open();
  if (!driver.ok()) return WithHint(driver.status());
  PENSTOCK_ASSIGN_OR_RETURN(const int count, CountCudaDevices(*driver));
  return OpenOrdinal(ordinal, count);
}

std::shared_ptr<Device> OpenHost(SimOptions options) {
  options.name = "host";
  options.gb_per_s = 0;
  options.copy_latency = absl::ZeroDuration();
  return SimDevice::Create(std::move(options));
}

absl::StatusOr<std::shared_ptr<Device>> OpenSim(const SimOptions& options) {
  if (!std::isfinite(options.gb_per_s) || options.gb_per_s < 0 ||
      options.copy_latency < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device sim: expected a bandwidth of 0 GB/s or more and a latency of 0 or more, got ",
        options.gb_per_s, " GB/s and ", absl::FormatDuration(options.copy_latency)));
  }
  return SimDevice::Create(options);
}

absl::StatusOr<std::shared_ptr<Device>> OpenAuto(const SimOptions& sim, std::string* warning) {
  const absl::StatusOr<Libcuda> driver = Libcuda::Open();
  if (!driver.ok()) {
    if (warning != nullptr) {
      *warning =
          absl::StrCat(driver.status().message(), "; running on the CPU, as with --device=host");
    }
    return OpenHost(sim);
  }
  PENSTOCK_ASSIGN_OR_RETURN(const int count, CountCudaDevices(*driver));
  if (!BuiltWithCuda()) return WithHint(OpenCuda(0).status());
  return OpenOrdinal(std::nullopt, count);
}

}  // namespace

absl::StatusOr<DeviceName> ParseDeviceName(absl::string_view name) {
  using Form = DeviceName::Form;
  if (name == "auto") return DeviceName{Form::kAuto, std::nullopt};
  if (name == "host") return DeviceName{Form::kHost, std::nullopt};
  if (name == "sim") return DeviceName{Form::kSim, std::nullopt};
  if (name == "cuda") return DeviceName{Form::kCuda, std::nullopt};
  absl::string_view digits = name;
  if (absl::ConsumePrefix(&digits, "cuda:")) {
    const std::optional<int> ordinal = ParseOrdinal(digits);
    if (ordinal) return DeviceName{Form::kCuda, ordinal};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "device \"", name, "\": expected auto, cuda, cuda:N with N = 0, 1, ..., host, or sim"));
}

absl::StatusOr<std::shared_ptr<Device>> OpenDevice(absl::string_view name, const SimOptions& sim,
                                                   std::string* warning) {
  PENSTOCK_ASSIGN_OR_RETURN(const DeviceName parsed, ParseDeviceName(name));
  switch (parsed.form) {
    case DeviceName::Form::kAuto:
      return OpenAuto(sim, warning);
    case DeviceName::Form::kHost:
      return OpenHost(sim);
    case DeviceName::Form::kSim:
      return OpenSim(sim);
    case DeviceName::Form::kCuda:
      break;
  }
  return OpenByDriver(parsed.ordinal);
}

absl::StatusOr<std::vector<std::shared_ptr<Device>>> OpenDevices(absl::string_view names,
                                                                 const SimOptions& sim,
                                                                 std::string* warning) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const absl::string_view name : absl::StrSplit(names, ',')) {
    PENSTOCK_ASSIGN_OR_RETURN(devices.emplace_back(), OpenDevice(name, sim, warning));
  }
  return devices;
}

absl::StatusOr<std::shared_ptr<Device>> CurrentCudaDevice() { return OpenDevice("cuda"); }

}  // namespace penstock
