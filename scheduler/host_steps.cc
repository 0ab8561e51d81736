#include "penstock/scheduler/host_steps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr size_t kEncodedAlignment = 16;   // Vector loads of the device's decoder.
constexpr int64_t kBytesATask = 64 << 10;  // Of samples whose size is fixed: some 10 us of work.
constexpr int kEncodedRowsATask = 2;       // A decode takes a millisecond.
constexpr int kDescribedRowsATask = 16;    // A file is read in 10 us and described in one.
constexpr int kMaxRowsATask = 64;
constexpr int kKeptRowsATask = 32;  // Some 10 us: a few numbers a row.

int ChunkRows(const ExecutionPlan& plan) {
  if (!plan.chain.input.fixed()) {
    return plan.has_encoded_part() ? kDescribedRowsATask : kEncodedRowsATask;
  }
  const int64_t rows = kBytesATask / std::max<int64_t>(1, plan.chain.input.bytes());
  return static_cast<int>(std::clamp<int64_t>(rows, 1, kMaxRowsATask));
}

// Grows the staging buffer with some room, so that a few batches settle its size.
void GrowStaging(Seat& seat, size_t bytes) {
  const size_t grown = bytes + bytes / 4;
  seat.staging = std::make_unique_for_overwrite<std::byte[]>(grown);
  seat.staging_bytes = grown;
}

}  // namespace

HostSteps::HostSteps(const ExecutionPlan& plan, const SlabTables& tables, RunCounters& counters)
    : plan_(plan),
      tables_(tables),
      counters_(counters),
      stored_rows_(plan.source->stored_rows()),
      chunk_rows_(ChunkRows(plan)) {}

bool HostSteps::Locate(BatchWork& work) const {
  bool known = true;
  int64_t hits = 0;
  work.spec.Ids(0, absl::MakeSpan(work.ids));
  if (work.rows.size() < work.ids.size()) work.rows.resize(work.ids.size());
  for (int row = 0; row < work.count(); ++row) {
    RowWork& r = work.rows[row];
    const int64_t id = work.ids[row];
    r.sample.id = id;
    r.sample.tag.clear();
    r.settled = false;
    r.deferred = false;
    r.refused = false;
    r.read_again.reset();
    r.entry = nullptr;
    r.kept = cache_ != nullptr && cache_->Has(id);
    if (r.kept) {
      r.extent = {};
      r.bytes = 0;
      continue;
    }
    if (encoded_ && encoded_->Find(r)) {
      ++hits;
      continue;
    }
    r.extent = plan_.source->Locate(id);
    r.bytes = r.extent.memory ? static_cast<int64_t>(r.extent.memory->size())
                              : r.extent.bytes.value_or(-1);
    known = known && r.bytes >= 0;
  }
  counters_.cache_hits += hits;
  return known;
}

void HostSteps::Measure(BatchWork& work, int begin, int end, FileReader& reader) const {
  for (int row = begin; row < end && !work.failed(); ++row) {
    RowWork& r = work.rows[row];
    if (r.bytes >= 0) continue;
    const absl::StatusOr<int64_t> bytes = reader.Measure(r.extent);
    if (!bytes.ok()) return FailSample(plan_, plan_.source_node, row, bytes.status(), work);
    r.bytes = *bytes;
  }
}

void HostSteps::Place(BatchWork& work) const {
  size_t staged = 0;
  for (int row = 0; row < work.count(); ++row) {
    RowWork& r = work.rows[row];
    if (r.entry != nullptr && encoded_->is_used_in_place(r)) {
      r.in_encoded_part = false;
      r.finished = r.entry->host_form || plan_.whole.empty();
      r.place = r.slot = nullptr;
      continue;
    }
    const size_t bytes = AlignUp(r.bytes, kEncodedAlignment);
    r.in_encoded_part =
        plan_.has_encoded_part() && work.encoded_used + bytes <= plan_.layout.encoded;
    r.finished = !r.in_encoded_part;
    r.place = r.slot = nullptr;
    if (r.kept) continue;
    std::byte* const used = work.seat->host + plan_.layout.encoded_at() + work.encoded_used;
    if (r.in_encoded_part) {
      r.place = used;
      work.encoded_used += bytes;
    } else if (plan_.gather != nullptr) {
      r.slot = used;
      work.encoded_used += plan_.cache.pitch;
    } else if (stored_rows_ && plan_.chain.cut == 0) {
      r.slot = tables_.HostRow(*work.seat, row).data();
    }
    if (r.slot != nullptr && stored_rows_) r.place = r.slot;
    if (r.place == nullptr && !r.extent.memory) staged += bytes;
  }
  Seat& seat = *work.seat;
  if (staged > seat.staging_bytes) {
    GrowStaging(seat, staged);
    ++counters_.staging_growths;
  }
  size_t at = 0;
  for (int row = 0; row < work.count(); ++row) {
    RowWork& r = work.rows[row];
    if (IsReady(r) || r.place != nullptr || r.extent.memory) continue;
    r.place = seat.staging.get() + at;
    at += AlignUp(r.bytes, kEncodedAlignment);
  }
}

bool HostSteps::nothing_to_read(const BatchWork& work) const {
  return std::all_of(work.rows.begin(), work.rows.begin() + work.count(), [this](const RowWork& r) {
    return IsReady(r) || (r.extent.memory && r.place == nullptr);
  });
}

// It is kept, and used where it lies.
bool HostSteps::IsReady(const RowWork& row) const {
  return row.kept || (row.entry != nullptr && row.place == nullptr);
}

// Where nothing is left but to settle what the device does, as much as a task's cost is worth.
int HostSteps::chunk_rows(const BatchWork& work) const {
  if (!encoded_ || plan_.whole.empty()) return chunk_rows_;
  const bool all_kept = std::all_of(work.rows.begin(), work.rows.begin() + work.count(),
                                    [this](const RowWork& r) { return IsReady(r) && !r.finished; });
  return all_kept ? kKeptRowsATask : chunk_rows_;
}

int HostSteps::Read(BatchWork& work, int begin, int end, FileReader& reader) const {
  int64_t bytes = 0;
  int row = begin;
  for (; row < end && !work.failed(); ++row) {
    RowWork& r = work.rows[row];
    if (IsReady(r)) continue;
    if (r.extent.memory) {
      if (r.place != nullptr) std::memcpy(r.place, r.extent.memory->data(), r.bytes);
    } else if (absl::Status s = reader.Read(r.extent, absl::MakeSpan(r.place, r.bytes)); !s.ok()) {
      FailSample(plan_, plan_.source_node, row, s, work);
      break;
    }
    bytes += r.entry != nullptr ? 0 : r.bytes;
    if (!r.in_encoded_part) continue;
    const size_t padded = AlignUp(r.bytes, kEncodedAlignment);
    std::memset(r.place + r.bytes, 0, padded - r.bytes);
    work.slab_writes += static_cast<int64_t>(padded);
  }
  counters_.bytes_read += bytes;
  return row - begin;
}

bool HostSteps::must_read_again(const BatchWork& work, int row) const {
  return work.rows[row].place == nullptr && !work.rows[row].extent.memory;
}

void HostSteps::ReadAgain(BatchWork& work, int row, FileReader& reader) const {
  RowWork& r = work.rows[row];
  const absl::Status status = [&]() -> absl::Status {
    r.entry = nullptr;
    r.read_again.emplace();
    r.extent = plan_.source->Locate(work.ids[row]);
    if (r.extent.memory) {
      r.bytes = static_cast<int64_t>(r.extent.memory->size());
      return absl::OkStatus();
    }
    PENSTOCK_ASSIGN_OR_RETURN(r.bytes, reader.Measure(r.extent));
    r.read_again->resize(static_cast<size_t>(r.bytes));
    r.place = r.read_again->data();
    counters_.bytes_read += r.bytes;
    return reader.Read(r.extent, absl::MakeSpan(*r.read_again));
  }();
  if (!status.ok()) FailSample(plan_, plan_.source_node, row, status, work);
}

void HostSteps::Complete(BatchWork& work) const {
  if (!work.failed() && !plan_.batch_steps.empty()) RunBatchSteps(work);
  if (!work.failed() && plan_.gather == nullptr) tables_.Seal(work);
  if (!work.failed() && encoded_) encoded_->PrepareFill(work);
}

void HostSteps::RunBatchSteps(BatchWork& work) const {
  const absl::Time start = absl::Now();
  BatchInfo info;
  info.sequence = work.spec.sequence;
  info.epoch = work.spec.epoch;
  info.ids = work.ids;
  HostBatch batch;
  batch.info = &info;
  const auto tensor = [&](const FieldSpec& spec, size_t offset) {
    TensorView view;
    view.data = work.seat->host + offset;
    view.dtype = spec.dtype;
    view.shape = spec.shape;
    view.shape.insert(view.shape.begin(), work.count());
    view.strides = RowMajorStrides(view.shape);
    batch.tensors.emplace_back(spec.name, std::move(view));
  };
  tensor(plan_.chain.spec(plan_.chain.cut), plan_.layout.rows_at());
  for (const FixedField& fixed : plan_.fixed) tensor(fixed.spec, fixed.table);
  for (const BatchStep& step : plan_.batch_steps) {
    Random random({plan_.seed, static_cast<uint64_t>(work.spec.epoch),
                   static_cast<uint64_t>(work.spec.sequence * plan_.world + plan_.rank)},
                  step.random_key);
    if (absl::Status status = step.stage->Process(batch, random); !status.ok()) {
      return work.Fail(
          0, Prefixed(absl::StrCat("node '", step.node, "', batch ", work.spec.sequence), status));
    }
    work.slab_writes += static_cast<int64_t>(plan_.layout.row) * work.count();
  }
  counters_.batch_steps.Add(absl::Now() - start, absl::ZeroDuration());
}

}  // namespace penstock
