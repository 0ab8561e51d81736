// CacheSteps: what a Cache of encoded samples does to a batch on the host.
#pragma once

#include <cstddef>

#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/encoded_cache.h"
#include "penstock/scheduler/execution_plan.h"

namespace penstock {

// Thread-safe for different rows of a batch and for different batches.
class CacheSteps {
 public:
  // Both must outlive it.
  CacheSteps(const ExecutionPlan& plan, EncodedCache& cache) : plan_(plan), cache_(cache) {}

  // Looks for the row's sample. True if it is kept: then row.entry is set, and where its bytes are,
  // as far as the host has them.
  bool Find(RowWork& row) const;
  // A kept sample is used in its place in the cache, by the device or by the host form; else it has
  // to be copied into the slab.
  bool is_used_in_place(const RowWork& row) const {
    return row.entry->host_form || cache_.read_in_place() || plan_.whole.empty();
  }
  // Only the device has the bytes of kept samples.
  bool on_device() const { return cache_.on_device(); }

  // Sets the fields of a kept sample, and its descriptor in the tables.
  void Take(BatchWork& work, int row) const;
  // Keeps a sample that was read, if that is in memory of the host.
  void Keep(BatchWork& work, int row) const;

  // Once all rows are done: gives those that go up places in device memory, if samples are kept
  // there. Sets work.filling and work.fills, the copies to be made on the device.
  void PrepareFill(BatchWork& work) const;
  // The device is done with them, and what it reported is known: they are kept, unless damaged.
  void EndFill(const BatchWork& work) const;

 private:
  EncodedCache::Sample Known(const BatchWork& work, int row) const;

  const ExecutionPlan& plan_;
  EncodedCache& cache_;
};

}  // namespace penstock
