#include "penstock/scheduler/gather_steps.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

// What the device takes in some 80 us, over the link and from its own memory; a launch takes 5.
constexpr size_t kLinkBytes = size_t{4} << 20, kDeviceBytes = size_t{64} << 20;

// Of one launch.
size_t MostBatches(const ExecutionPlan& plan) {
  const size_t carried = kMaxCarries / std::max<size_t>(1, plan.fixed.size());
  const size_t bytes = plan.cache.place == CachePlace::kDevice ? kDeviceBytes : kLinkBytes;
  const size_t batch = plan.cache.pitch * static_cast<size_t>(plan.layout.batch);
  return std::clamp<size_t>(bytes / batch, 1, std::min(kMaxGathered, carried));
}

}  // namespace

GatherSteps::GatherSteps(Device& device, const ExecutionPlan& plan, const SlabTables& tables,
                         const RowCache& cache)
    : device_(device),
      plan_(plan),
      tables_(tables),
      cache_(cache),
      most_batches_(MostBatches(plan)),
      in_place_(plan.tables_in_place()) {}

uint64_t GatherSteps::AddressInSlab(const BatchWork& work, int row) const {
  const Seat& seat = *work.seat;
  return reinterpret_cast<uint64_t>(seat.device + (work.rows[row].slot - seat.host));
}

bool GatherSteps::Resolve(BatchWork& work, absl::Span<const int64_t> ids, int begin) const {
  const size_t rows = ids.size();
  const auto& links = plan_.chain.links;
  for (size_t i = 0; i < links.size() && !ids.empty(); ++i) {
    const NodeDraws draws(plan_.seed, static_cast<uint64_t>(work.spec.epoch), links[i].random_key);
    const RowsStatus resolved = links[i].stage->ResolveRows(
        plan_.chain.spec(i).size(), links[i].out.size(), draws, ids, tables_.Params(work, begin, i),
        tables_.HostParams(work, begin).stride);
    if (resolved.status.ok()) continue;
    FailSample(plan_, links[i].node, begin + static_cast<int>(resolved.row), resolved.status, work);
    ids = ids.first(resolved.row);  // A row before it may fail in a later stage.
  }
  return ids.size() == rows;
}

void GatherSteps::Fill(BatchWork& work, int begin, int end) const {
  const auto ids = absl::MakeConstSpan(work.ids).subspan(begin, end - begin);
  if (!Resolve(work, ids, begin)) return;
  std::array<uint64_t, kChunkRows> addresses;
  for (size_t i = 0; i < ids.size(); ++i) {
    addresses[i] = cache_.Has(ids[i]) ? cache_.Address(ids[i])
                                      : AddressInSlab(work, begin + static_cast<int>(i));
  }
  const size_t entry = plan_.gather->entry_bytes();
  plan_.gather->Pack(absl::MakeConstSpan(addresses).first(ids.size()),
                     tables_.HostParams(work, begin),
                     work.seat->host + plan_.entries + begin * entry);
  for (size_t i = 0; i < plan_.fixed.size(); ++i) CopyFixed(i, ids, begin, *work.seat);
}

void GatherSteps::CopyFixed(size_t i, absl::Span<const int64_t> ids, int begin,
                            const Seat& seat) const {
  const auto bytes = static_cast<size_t>(plan_.fixed[i].spec.bytes());
  const std::byte* kept = cache_.Fixed(i, 0);
  std::byte* first = seat.host + plan_.fixed[i].table + begin * bytes;
  for (size_t row = 0; row < ids.size(); ++row) {
    if (!cache_.Has(ids[row])) continue;  // The source has written it.
    const std::byte* from = kept + ids[row] * bytes;
    std::byte* to = first + row * bytes;
    if (bytes == sizeof(int64_t)) {  // A label: of a known size, a copy is no call.
      std::memcpy(to, from, sizeof(int64_t));
    } else {
      std::memcpy(to, from, bytes);
    }
  }
}

absl::Status GatherSteps::Enqueue(absl::Span<const BatchWork* const> works,
                                  StreamRef stream) const {
  std::array<Carry, kMaxCarries> carries;
  std::array<GatherBatch, kMaxGathered> batches;
  size_t carried = 0, gathered = 0;
  for (const BatchWork* work : works) {
    const Seat& seat = *work->seat;
    const size_t first = carried;
    for (size_t i = 0; in_place_ && i < plan_.fixed.size(); ++i) {
      const FixedField& fixed = plan_.fixed[i];
      carries[carried++] = {seat.device + fixed.table, seat.host + fixed.table,
                            static_cast<size_t>(fixed.spec.bytes()) * work->count()};
    }
    batches[gathered++] = {(in_place_ ? seat.host : seat.device) + plan_.entries, work->count(),
                           seat.device + plan_.layout.outputs_at(),
                           absl::MakeConstSpan(carries).subspan(first, carried - first)};
  }
  absl::Status status =
      plan_.gather->Enqueue({device_, stream, absl::MakeConstSpan(batches).first(gathered)});
  if (status.ok()) return status;
  return Prefixed(absl::StrCat("the gather of batch ", works.front()->spec.sequence), status);
}

}  // namespace penstock
