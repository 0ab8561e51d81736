// StreamRef: a stream of device work, named by type and never by a bare 0.
//
// Needs no CUDA header. A `cudaStream_t` converts, also a null one that is held in a variable
// (CUDA's meaning: the legacy default stream, which is also PyTorch's current stream unless told
// otherwise); the literals 0 and nullptr do not compile, since they hide which stream is meant.
//
//   cudaStream_t compute = ...;
//   batch.WaitOn(compute);
//   batch.WaitOn(penstock::StreamRef::PerThreadDefault());
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*.

namespace penstock {

enum class DeviceKind : uint8_t { kSim, kCuda };

// Non-owning; trivially copyable. On a SimDevice both default streams stand for the calling host
// thread, so that a consumer on the CPU runs the same program: waiting then blocks that thread.
class StreamRef {
 public:
  StreamRef(CUstream_st* stream)  // NOLINT(google-explicit-constructor): cudaStream_t converts.
      : kind_(DeviceKind::kCuda), handle_(stream) {}
  StreamRef(int) = delete;             // NOLINT(google-explicit-constructor)
  StreamRef(std::nullptr_t) = delete;  // NOLINT(google-explicit-constructor)

  // The values are CUDA's own: cudaStreamLegacy and cudaStreamPerThread.
  static StreamRef LegacyDefault() { return {DeviceKind::kCuda, reinterpret_cast<void*>(1)}; }
  static StreamRef PerThreadDefault() { return {DeviceKind::kCuda, reinterpret_cast<void*>(2)}; }

  // For implementations of Device.
  StreamRef(DeviceKind kind, void* handle) : kind_(kind), handle_(handle) {}

  DeviceKind kind() const { return kind_; }
  void* handle() const { return handle_; }
  bool is_default() const {
    return kind_ == DeviceKind::kCuda && reinterpret_cast<uintptr_t>(handle_) <= 2;
  }
  bool operator==(const StreamRef&) const = default;

 private:
  DeviceKind kind_;
  void* handle_;
};

}  // namespace penstock
