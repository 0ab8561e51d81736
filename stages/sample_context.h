// What a stage may use while it works on one sample.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace penstock {

// A stage's own state, one a thread that runs it (a decoder object, say).
struct WorkerState {
  virtual ~WorkerState() = default;
};
template <class T>
struct WorkerStateOf final : WorkerState {
  T value{};
};

// Memory that grows to the largest request and is kept. Thread-compatible.
class Scratch {
 public:
  // Uninitialised, aligned to 16, until the next Get() of the same object.
  std::byte* Get(size_t bytes) {
    if (bytes > bytes_) {
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return data_.get();
  }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t bytes_ = 0;
};

// Given to each call of a body; lives as long as that call.
class SampleContext {
 public:
  SampleContext(WorkerState* state, Scratch* scratch) : state_(state), scratch_(scratch) {}

  // The stage's State, as its base class names it: nobody else uses it during this call.
  template <class T>
  T& state() const {
    return static_cast<WorkerStateOf<T>*>(state_)->value;
  }
  // `bytes` of uninitialised memory, aligned to 16, once a call. It lasts until the call ends; what
  // a source allocates lasts until its sample is done.
  std::byte* Allocate(size_t bytes) const { return scratch_->Get(bytes); }

 private:
  WorkerState* state_;
  Scratch* scratch_;
};

}  // namespace penstock
