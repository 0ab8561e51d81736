// EncodedCache: encoded samples that are kept from the first time they come by, until it is full.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/device.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/stages/field.h"

namespace penstock {

// Thread-safe; who looks for a sample takes no lock. The bytes of an entry lie where the plan says,
// at a multiple of 16; beside them, on the host, is a record: what is known of the sample once its
// header has been read. An entry that was found stays as it is until the end.
class EncodedCache {
 public:
  static constexpr size_t kAlignment = 16;  // Vector loads of the device's decoder.

  struct Entry {
    uint64_t address = 0;  // Of the encoded field: in device memory or host memory.
    int64_t bytes = 0;
    ImageSize size;
    bool host_form = false;  // The device's decoder refuses it.
  };
  // What a caller knows of a sample of which `bytes` bytes were read; its field is a part of them.
  // Fixed fields by plan.fixed; no descriptor: it has none.
  struct Sample {
    int64_t id = 0;
    int64_t bytes = 0, view_at = 0, view_bytes = 0;
    ImageSize size;
    bool host_form = false;
    const std::byte* descriptor = nullptr;
    std::array<const std::byte*, kMaxFields> fixed{};
  };

  // `plan` must outlive it. Errors: the device's, for the memory.
  static absl::StatusOr<std::unique_ptr<EncodedCache>> Create(const ExecutionPlan& plan,
                                                              Device& device);

  // Null unless the sample is kept and ready.
  const Entry* Find(int64_t id) const;
  // Of a sample that Find() has given.
  const std::byte* Descriptor(int64_t id) const { return Record(id) + descriptor_at_; }
  const std::byte* Fixed(int64_t id, size_t i) const { return Record(id) + fixed_at_[i]; }

  // Gives the sample its place, which the caller fills; null where it has one already, was passed
  // over, or there is no room. What follow each other in time, without others between them, lie
  // side by side, each padded to a multiple of 16.
  std::byte* Reserve(const Sample& sample);
  // Its bytes are there: from now on it is found.
  void Publish(int64_t id) { StateOf(id).store(kReady, std::memory_order_release); }
  // It is never to be kept. Its place is lost.
  void PassOver(int64_t id) { StateOf(id).store(kPassedOver, std::memory_order_relaxed); }
  // All of it at once, for memory of the host.
  void Keep(const Sample& sample, const std::byte* bytes);

  bool on_device() const { return place_ == CachePlace::kDevice; }
  // The device reads what is kept where it lies.
  bool read_in_place() const { return place_ != CachePlace::kHost; }
  size_t used_bytes() const;

  // Of the record of a sample, for the memory plan.
  static size_t RecordBytes(const ExecutionPlan& plan);

 private:
  // Zero is what fresh memory holds.
  enum State : uint8_t { kUnknown = 0, kFilling, kReady, kPassedOver };

  EncodedCache(const ExecutionPlan& plan, CachePlace place);
  std::byte* Record(int64_t id) const {
    return records_.data() + static_cast<size_t>(id) * record_bytes_;
  }
  std::atomic_ref<uint8_t> StateOf(int64_t id) const {
    return std::atomic_ref<uint8_t>(*reinterpret_cast<uint8_t*>(Record(id)));
  }
  Entry* EntryOf(int64_t id) const;

  const CachePlace place_;
  const int64_t samples_;
  size_t descriptor_bytes_ = 0, descriptor_at_ = 0, record_bytes_ = 0;
  std::vector<size_t> fixed_at_, fixed_bytes_;  // By plan.fixed.
  Buffer records_, memory_;
  mutable std::mutex mutex_;  // Of used_, and of leaving kUnknown.
  size_t used_ = 0;
};

}  // namespace penstock
