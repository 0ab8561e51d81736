#include "penstock/scheduler/slab_tables.h"

#include <algorithm>
#include <cstring>

namespace penstock {

SlabTables::SlabTables(const ExecutionPlan& plan)
    : plan_(plan), boundaries_(plan.chain.links.size() + 1) {
  for (size_t i = 0; i < plan.chain.links.size(); ++i) {
    host_params_at_.push_back(host_params_row_);
    if (plan.params[i] == kNoTable) host_params_row_ += plan.chain.links[i].stage->params_bytes();
  }
}

void SlabTables::Start(BatchWork& work) const {
  work.host_params.resize(host_params_row_ * static_cast<size_t>(plan_.layout.batch));
}

std::byte* SlabTables::Params(BatchWork& work, int row, size_t link) const {
  if (plan_.params[link] == kNoTable) {
    return work.host_params.data() + row * host_params_row_ + host_params_at_[link];
  }
  return work.seat->host + plan_.params[link] + row * plan_.chain.links[link].stage->params_bytes();
}

void SlabTables::AllParams(BatchWork& work, int row, absl::Span<std::byte*> out) const {
  for (size_t i = 0; i < out.size(); ++i) out[i] = Params(work, row, i);
}

FieldView SlabTables::HostRow(const Seat& seat, int row) const {
  return WholeView(plan_.chain.spec(plan_.chain.cut),
                   seat.host + plan_.layout.rows_at() + row * plan_.layout.row);
}

FieldView SlabTables::DeviceRow(const Seat& seat, int row) const {
  FieldView view = HostRow(seat, row);
  view.address =
      reinterpret_cast<uint64_t>(seat.device + plan_.layout.rows_at() + row * plan_.layout.row);
  return view;
}

FieldView* SlabTables::View(const Seat& seat, size_t boundary, int row) const {
  return reinterpret_cast<FieldView*>(seat.host + plan_.views[boundary]) + row;
}

void SlabTables::WriteViews(BatchWork& work, int row, const FieldView& encoded) const {
  const Seat& seat = *work.seat;
  const Resolved& resolved = work.rows[row].resolved;
  const size_t last = boundaries_ - 1;
  for (size_t b = 0; b < boundaries_; ++b) {
    if (plan_.views[b] == kNoTable) continue;
    const FieldSpec& spec = plan_.chain.spec(b);
    FieldView view;
    if (b == 0 && plan_.has_encoded_part()) {
      view = encoded;
    } else if (b == plan_.chain.cut) {
      view = DeviceRow(seat, row);
    } else {
      view.channels = static_cast<int32_t>(spec.channels());
      view.dtype = spec.dtype;
      view.region = resolved.region[b];
      if (b == last) {
        view.bytes = spec.bytes();
        view.address =
            reinterpret_cast<uint64_t>(seat.device + plan_.layout.outputs_at() + row * view.bytes);
      }
    }
    *View(seat, b, row) = view;
  }
}

void SlabTables::WriteRowList(BatchWork& work, size_t table, absl::Span<const int32_t> rows) const {
  if (table == kNoTable) return;
  auto* list = reinterpret_cast<int32_t*>(work.seat->host + table);
  std::copy(rows.begin(), rows.end(), list);
  std::fill(list + rows.size(), list + work.count(), -1);
}

void SlabTables::Seal(BatchWork& work) const {
  const auto& tables = plan_.layout.table_list;
  for (size_t i = 0; i < tables.size(); ++i) {
    const size_t end = i + 1 < tables.size() ? tables[i + 1].offset : plan_.layout.tables;
    const size_t used = tables[i].offset + tables[i].bytes_per_row * work.count();
    std::memset(work.seat->host + used, 0, end - used);
  }
  work.slab_writes += static_cast<int64_t>(plan_.layout.tables);
}

}  // namespace penstock
