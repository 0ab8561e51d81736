// A CUDA driver that has only what is asked before CUDA starts. The environment says what it
// answers: FAKE_CUDA_INIT is cuInit's error (default 0), FAKE_CUDA_DEVICES the number of devices
// (default 0).
#include <cstdlib>

namespace {

int FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return FromEnvironment("FAKE_CUDA_INIT"); }

int cuDeviceGetCount(int* count) {
  *count = FromEnvironment("FAKE_CUDA_DEVICES");
  return 0;
}

int cuGetErrorName(int error, const char** name) {
  if (error != 100) return 1;  // CUDA_ERROR_INVALID_VALUE
  *name = "CUDA_ERROR_NO_DEVICE";
  return 0;
}

}  // extern "C"
