// Buffer: bytes with an owner.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace penstock {

// Owns `bytes` bytes and gives them back through `free`, which is called once. Move-only; moving
// onto a live buffer frees what it held. Thread-compatible.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::byte* data, size_t bytes, std::function<void(std::byte*)> free)
      : data_(data), bytes_(bytes), free_(std::move(free)) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    Reset();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    free_ = std::exchange(other.free_, nullptr);
    return *this;
  }
  ~Buffer() { Reset(); }

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }
  void Reset() {
    if (free_) std::exchange(free_, nullptr)(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  std::function<void(std::byte*)> free_;
};

}  // namespace penstock
