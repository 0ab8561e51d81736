// What HostSteps does to each row by itself.
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/arena.h"
#include "penstock/scheduler/host_steps.h"

namespace penstock {

std::unique_ptr<ChainWorker> HostSteps::TakeWorker() const {
  {
    const std::lock_guard lock(workers_mutex_);
    if (!workers_.empty()) {
      auto worker = std::move(workers_.back());
      workers_.pop_back();
      return worker;
    }
  }
  return std::make_unique<ChainWorker>(plan_.chain.MakeWorker());
}

void HostSteps::GiveBack(std::unique_ptr<ChainWorker> worker) const {
  const std::lock_guard lock(workers_mutex_);
  workers_.push_back(std::move(worker));
}

template <class Body>
void HostSteps::WithWorker(const Chunk& chunk, Body body) const {
  const absl::Time start = absl::Now();
  auto worker = TakeWorker();
  const int64_t scratch_before = worker->scratch_bytes;
  const int done = body(*worker);
  chunk.envelope->work->scratch_writes += worker->scratch_bytes - scratch_before;
  GiveBack(std::move(worker));
  counters_.host.Add(absl::Now() - start, start - chunk.ready, done);
}

template <class Body>
void HostSteps::ForEachRow(const Chunk& chunk, Body body) const {
  BatchWork& work = *chunk.envelope->work;
  WithWorker(chunk, [&](ChainWorker& worker) {
    int done = 0;
    for (int row = chunk.begin; row < chunk.end && !work.failed(); ++row) {
      const bool is_new = !work.rows[row].settled;
      const absl::Status status = body(row, worker);
      if (!status.ok()) FailRow(work, row, status);
      done += status.ok() && is_new ? 1 : 0;
    }
    return done;
  });
}

bool HostSteps::Settle(const Chunk& chunk) const {
  BatchWork& work = *chunk.envelope->work;
  bool any_left = false;
  ForEachRow(chunk, [&](int row, ChainWorker& worker) -> absl::Status {
    PENSTOCK_RETURN_IF_ERROR(SettleRow(work, row, worker));
    const bool is_left = work.rows[row].finished;
    any_left |= is_left;
    return is_left ? absl::OkStatus() : EndRow(work, row, worker);
  });
  return any_left;
}

void HostSteps::Process(const Chunk& chunk) const {
  BatchWork& work = *chunk.envelope->work;
  ForEachRow(chunk, [&](int row, ChainWorker& worker) -> absl::Status {
    if (!work.rows[row].settled) {
      PENSTOCK_RETURN_IF_ERROR(SettleRow(work, row, worker));
    } else if (!work.rows[row].finished) {
      return absl::OkStatus();  // It has ended.
    }
    return EndRow(work, row, worker);
  });
}

void HostSteps::FailRow(BatchWork& work, int row, const absl::Status& status) const {
  const size_t failed = work.rows[row].resolved.failed;
  FailSample(plan_, failed == kMaxLinks ? plan_.source_node : plan_.chain.links[failed].node, row,
             status, work);
}

// The cache's memory is the host's here; where it is the device's, batches are gathered.
void HostSteps::TakeKept(BatchWork& work, int row) const {
  Sample& sample = work.rows[row].sample;
  for (size_t i = 0; i < plan_.fixed.size(); ++i) {
    const FixedField& fixed = plan_.fixed[i];
    const auto bytes = static_cast<size_t>(fixed.spec.bytes());
    std::memcpy(work.seat->host + fixed.table + row * bytes, cache_->Fixed(i, sample.id), bytes);
  }
  sample.fields[plan_.field] =
      WholeView(plan_.chain.input, reinterpret_cast<const std::byte*>(cache_->Address(sample.id)));
}

absl::Status HostSteps::FinishRow(BatchWork& work, int row, ChainWorker& worker) const {
  RowWork& r = work.rows[row];
  Sample& sample = r.sample;
  sample.size[plan_.field] = plan_.chain.input.size();
  r.resolved.failed = kMaxLinks;  // The source, until a link takes over.
  if (r.kept) {
    TakeKept(work, row);
    return absl::OkStatus();
  }
  if (r.entry != nullptr) {
    encoded_->Take(work, row);
    return absl::OkStatus();
  }
  for (const FixedField& fixed : plan_.fixed) {
    FieldView& view = sample.fields[fixed.field];
    view.bytes = fixed.spec.bytes();
    view.dtype = fixed.spec.dtype;
    view.address = reinterpret_cast<uint64_t>(work.seat->host + fixed.table + row * view.bytes);
  }
  const auto bytes = r.place != nullptr ? absl::Span<const std::byte>(r.place, r.bytes)
                                        : r.extent.memory.value_or(absl::Span<const std::byte>());
  FieldView& field = sample.fields[plan_.field];
  if (stored_rows_) {
    field = WholeView(plan_.chain.input, bytes.data());
  } else if (r.slot != nullptr) {
    field = WholeView(plan_.chain.input, r.slot);
  } else {
    const bool source_writes_row = plan_.chain.cut == 0;
    field = source_writes_row ? tables_.HostRow(*work.seat, row) : FieldView{};
  }
  SampleContext context(nullptr, &worker.source);
  return plan_.source->Finish(bytes, sample, context);
}

// By what it holds and by the plan alone: never by timing.
bool HostSteps::TakesHostForm(BatchWork& work, int row) const {
  RowWork& r = work.rows[row];
  const DeviceStep& first = plan_.whole.front();
  if (r.entry == nullptr) {
    r.refused = !first.stage->Describe(r.sample.fields[plan_.field], r.sample.size[plan_.field],
                                       first.HostDescriptor(*work.seat, row));
    if (r.refused) return true;
  }
  return !ArenaNeed(plan_, plan_.whole).TryAdd(work, row);
}

absl::Status HostSteps::SettleRow(BatchWork& work, int row, ChainWorker& worker) const {
  RowWork& r = work.rows[row];
  r.settled = true;
  PENSTOCK_RETURN_IF_ERROR(FinishRow(work, row, worker));
  if (plan_.gather != nullptr) {
    if (r.slot != nullptr) work.slab_writes += static_cast<int64_t>(plan_.cache.pitch);
    return absl::OkStatus();
  }
  FieldView& field = r.sample.fields[plan_.field];
  ImageSize& size = r.sample.size[plan_.field];
  if (plan_.chain.input.encoded && r.entry == nullptr) {
    r.resolved.failed = 0;
    PENSTOCK_RETURN_IF_ERROR(plan_.chain.links[0].stage->Probe(field, size));
  }
  std::array<std::byte*, kMaxLinks> pointers;
  const auto params = absl::MakeSpan(pointers.data(), plan_.chain.links.size());
  tables_.AllParams(work, row, params);
  PENSTOCK_RETURN_IF_ERROR(plan_.chain.Resolve(
      size,
      {plan_.seed, static_cast<uint64_t>(work.spec.epoch), static_cast<uint64_t>(r.sample.id)},
      params, r.resolved));
  if (!r.finished) r.finished = TakesHostForm(work, row);
  if (r.finished && r.entry != nullptr && encoded_->on_device()) {
    r.finished = false;
    r.deferred = true;
  }
  FieldView encoded = field;
  if (r.in_encoded_part) {
    encoded.address =
        reinterpret_cast<uint64_t>(work.seat->device + (field.data() - work.seat->host));
  }
  tables_.WriteViews(work, row, encoded);
  return absl::OkStatus();
}

// The host's part of a settled row, if it has one; then it is counted, and kept. What is the
// device's counts once that is done.
absl::Status HostSteps::EndRow(BatchWork& work, int row, ChainWorker& worker) const {
  const RowWork& r = work.rows[row];
  if (plan_.gather != nullptr || r.deferred) return absl::OkStatus();
  if (r.finished) {
    PENSTOCK_RETURN_IF_ERROR(RunHostForm(work, row, worker));
    counters_.decoded_host += plan_.chain.input.encoded ? 1 : 0;
  }
  if (encoded_) encoded_->Keep(work, row);
  return absl::OkStatus();
}

// What is before Collate, of a row whose Params are settled.
absl::Status HostSteps::RunHostForm(BatchWork& work, int row, ChainWorker& worker) const {
  RowWork& r = work.rows[row];
  if (r.resolved.size[plan_.chain.cut] != plan_.chain.spec(plan_.chain.cut).size()) {
    const ImageSize got = r.resolved.size[plan_.chain.cut];
    const ImageSize want = plan_.chain.spec(plan_.chain.cut).size();
    r.resolved.failed = plan_.chain.cut == 0 ? kMaxLinks : plan_.chain.cut - 1;
    return absl::FailedPreconditionError(absl::StrCat(
        CheckResolvedSize(got, want).message(), "; add Resize, CenterCrop or RandomResizedCrop"));
  }
  std::array<std::byte*, kMaxLinks> pointers;
  const auto params = absl::MakeSpan(pointers.data(), plan_.chain.links.size());
  tables_.AllParams(work, row, params);
  const FieldView row_view = tables_.HostRow(*work.seat, row);
  work.slab_writes += row_view.bytes;
  return plan_.chain.Process(r.sample.fields[plan_.field], r.resolved, params, row_view, worker);
}

void HostSteps::Repair(const Chunk& chunk) const {
  BatchWork& work = *chunk.envelope->work;
  WithWorker(chunk, [&](ChainWorker& worker) {
    int done = 0;
    for (int i = chunk.begin; i < chunk.end; ++i) {
      const int row = work.to_repair[i];
      const absl::Status status = RepairRow(work, row, worker);
      if (!status.ok()) FailRow(work, row, status);
      done += status.ok() ? 1 : 0;
    }
    return done;
  });
}

absl::Status HostSteps::RepairRow(BatchWork& work, int row, ChainWorker& worker) const {
  RowWork& r = work.rows[row];
  if (r.read_again) PENSTOCK_RETURN_IF_ERROR(FinishRow(work, row, worker));
  PENSTOCK_RETURN_IF_ERROR(RunHostForm(work, row, worker));
  if (!r.deferred) ++counters_.repaired;
  ++counters_.decoded_host;
  return absl::OkStatus();
}

}  // namespace penstock
