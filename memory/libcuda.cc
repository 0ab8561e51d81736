#include "penstock/memory/libcuda.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace penstock {

absl::StatusOr<Libcuda> Libcuda::Open() {
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return Libcuda(library);
  const char* const why = dlerror();
  return absl::FailedPreconditionError(
      absl::StrCat("no CUDA driver: ", why != nullptr ? why : "libcuda.so.1 cannot be loaded"));
}

absl::StatusOr<int> Libcuda::CountDevices() const {
  const auto unusable = [](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the CUDA driver is there but shows no usable device: ", why, " (", VisibleDevices(), ")"));
  };
  auto* const init = Find<int(unsigned)>("cuInit");
  auto* const get_count = Find<int(int*)>("cuDeviceGetCount");
  if (init == nullptr || get_count == nullptr) return unusable("libcuda.so.1 lacks cuInit");
  if (const int error = init(0)) return unusable(absl::StrCat("cuInit gave ", ErrorName(error)));
  int count = 0;
  if (const int error = get_count(&count)) {
    return unusable(absl::StrCat("cuDeviceGetCount gave ", ErrorName(error)));
  }
  if (count == 0) return unusable("it counts 0 devices");
  return count;
}

std::string Libcuda::ErrorName(int error) const {
  const char* name = nullptr;
  auto* const get_name = Find<int(int, const char**)>("cuGetErrorName");
  if (get_name == nullptr || get_name(error, &name) != 0) name = "CUDA error ";
  return absl::StrCat(name, "(", error, ")");
}

void* Libcuda::FindAddress(const char* name) const { return dlsym(library_, name); }

std::string VisibleDevices() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return "CUDA_VISIBLE_DEVICES is not set";
  return absl::StrCat("CUDA_VISIBLE_DEVICES=", visible);
}

}  // namespace penstock
