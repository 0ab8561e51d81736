#include "penstock/scheduler/encoded_cache.h"

#include <cstring>
#include <new>

#include "penstock/memory/slab.h"
#include "penstock/memory/spin_lock.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// A record: its state, the entry, the descriptor, the fixed fields.
constexpr size_t kEntryAt = alignof(EncodedCache::Entry);

size_t DescriptorBytes(const ExecutionPlan& plan) {
  return plan.whole.empty() ? 0 : plan.whole.front().stage->descriptor_bytes();
}

}  // namespace

EncodedCache::EncodedCache(const ExecutionPlan& plan, CachePlace place)
    : place_(place),
      samples_(plan.source->size().value_or(0)),
      descriptor_bytes_(DescriptorBytes(plan)),
      descriptor_at_(AlignUp(kEntryAt + sizeof(Entry), kAlignment)) {
  record_bytes_ = descriptor_at_ + descriptor_bytes_;
  for (const FixedField& fixed : plan.fixed) {
    fixed_at_.push_back(record_bytes_);
    fixed_bytes_.push_back(static_cast<size_t>(fixed.spec.bytes()));
    record_bytes_ += fixed_bytes_.back();
  }
  record_bytes_ = AlignUp(record_bytes_, kAlignment);
}

size_t EncodedCache::RecordBytes(const ExecutionPlan& plan) {
  return EncodedCache(plan, CachePlace::kHost).record_bytes_;
}

absl::StatusOr<std::unique_ptr<EncodedCache>> EncodedCache::Create(const ExecutionPlan& plan,
                                                                   Device& device) {
  const EncodedCachePlan& asked = plan.encoded_cache;
  std::unique_ptr<EncodedCache> cache(new EncodedCache(plan, asked.place));
  // Pages that no sample uses are never touched.
  PENSTOCK_ASSIGN_OR_RETURN(
      cache->records_,
      device.AllocateHost(static_cast<size_t>(cache->samples_) * cache->record_bytes_,
                          HostMemory::kPageable));
  if (asked.place == CachePlace::kDevice) {
    PENSTOCK_ASSIGN_OR_RETURN(cache->memory_, device.AllocateDevice(asked.bytes));
  } else {
    PENSTOCK_ASSIGN_OR_RETURN(cache->memory_,
                              device.AllocateHost(asked.bytes, asked.place == CachePlace::kPinned
                                                                   ? HostMemory::kPinned
                                                                   : HostMemory::kPageable));
  }
  return cache;
}

EncodedCache::Entry* EncodedCache::EntryOf(int64_t id) const {
  return std::launder(reinterpret_cast<Entry*>(Record(id) + kEntryAt));
}

const EncodedCache::Entry* EncodedCache::Find(int64_t id) const {
  if (StateOf(id).load(std::memory_order_acquire) != kReady) return nullptr;
  return EntryOf(id);
}

std::byte* EncodedCache::Reserve(const Sample& sample) {
  const size_t padded = AlignUp(static_cast<size_t>(sample.bytes), kAlignment);
  std::byte* place = nullptr;
  {
    const auto lock = SpinLock(mutex_);
    if (StateOf(sample.id).load(std::memory_order_relaxed) != kUnknown) return nullptr;
    if (used_ + padded > memory_.size()) return nullptr;
    StateOf(sample.id).store(kFilling, std::memory_order_relaxed);
    place = memory_.data() + used_;
    used_ += padded;
  }
  std::byte* const record = Record(sample.id);
  new (record + kEntryAt)
      Entry{reinterpret_cast<uint64_t>(place) + static_cast<uint64_t>(sample.view_at),
            sample.view_bytes, sample.size, sample.host_form};
  if (sample.descriptor != nullptr) {
    std::memcpy(record + descriptor_at_, sample.descriptor, descriptor_bytes_);
  }
  for (size_t i = 0; i < fixed_at_.size(); ++i) {
    std::memcpy(record + fixed_at_[i], sample.fixed[i], fixed_bytes_[i]);
  }
  return place;
}

void EncodedCache::Keep(const Sample& sample, const std::byte* bytes) {
  std::byte* const place = Reserve(sample);
  if (place == nullptr) return;
  const auto size = static_cast<size_t>(sample.bytes);
  std::memcpy(place, bytes, size);
  // All words that a sample touches may be read.
  std::memset(place + size, 0, AlignUp(size, kAlignment) - size);
  Publish(sample.id);
}

size_t EncodedCache::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace penstock
