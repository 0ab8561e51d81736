#include "penstock/scheduler/device_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/scheduler/arena.h"

namespace penstock {

absl::StatusOr<std::unique_ptr<DeviceSteps>> DeviceSteps::Create(Device& device,
                                                                 const ExecutionPlan& plan,
                                                                 const SlabTables& tables,
                                                                 const RowCache* cache) {
  std::unique_ptr<DeviceSteps> steps(new DeviceSteps(device, plan, tables));
  if (plan.gather != nullptr) {
    steps->gather_ = std::make_unique<GatherSteps>(device, plan, tables, *cache);
  }
  for (int i = 0; i < plan.streams; ++i) {
    StreamLane lane;
    PENSTOCK_ASSIGN_OR_RETURN(lane.arena,
                              device.AllocateDevice(plan.scratch_bytes + plan.arena_bytes));
    PENSTOCK_ASSIGN_OR_RETURN(lane.stream, device.CreateStream());
    steps->lanes_.push_back(std::move(lane));
  }
  return steps;
}

size_t DeviceSteps::device_bytes() const { return plan_.all_arena_bytes(); }

void DeviceSteps::Prepare(BatchWork& work) const {
  if (gather_ != nullptr) return;
  Waves& waves = work.waves;
  waves.encoded.clear();
  waves.finished.clear();
  for (int32_t row = 0; row < work.count(); ++row) {
    const RowWork& r = work.rows[row];
    if (r.deferred) continue;
    (r.finished ? waves.finished : waves.encoded).push_back(row);
  }
  if (plan_.status != kNoTable) {
    std::fill_n(tables_.Status(*work.seat), work.count(), 0);
  }
  tables_.WriteRowList(work, plan_.encoded_rows, waves.encoded);
  tables_.WriteRowList(work, plan_.finished_rows, waves.finished);
  waves.of_encoded = PlaceWaves(plan_.whole, waves.encoded, work);
  waves.of_finished = PlaceWaves(plan_.behind, waves.finished, work);
}

std::vector<Wave> DeviceSteps::PlaceWaves(const std::vector<DeviceStep>& steps,
                                          absl::Span<const int32_t> rows, BatchWork& work) const {
  std::vector<Wave> waves;
  if (steps.empty() || rows.empty()) return waves;
  ArenaNeed need(plan_, steps);
  size_t begin = 0;
  const auto end_wave = [&](size_t end) {
    waves.push_back({static_cast<int>(end - begin), need.scratch_at()});
    PlaceBetween(steps, rows.subspan(begin, end - begin), work);
    need.Clear();
    begin = end;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (need.TryAdd(work, rows[i])) continue;
    end_wave(i);
    need.TryAdd(work, rows[i]);  // By itself each fits.
  }
  end_wave(rows.size());
  return waves;
}

// Gives what lies between the steps of one wave its place in the arena.
void DeviceSteps::PlaceBetween(const std::vector<DeviceStep>& steps, absl::Span<const int32_t> rows,
                               BatchWork& work) const {
  auto at = reinterpret_cast<uint64_t>(lanes_[work.stream].arena.data());
  for (const int32_t row : rows) {
    for (const DeviceStep& step : steps) {
      const size_t bytes = BetweenBytes(plan_, step, work.rows[row].resolved);
      if (bytes == 0) continue;
      FieldView& view = *tables_.View(*work.seat, step.end, row);
      view.bytes = view.region.area() * view.channels * ItemBytes(view.dtype);
      view.address = at;
      at += bytes;
    }
  }
}

std::vector<CopyRange> DeviceSteps::Copies(const BatchWork& work) const {
  const Seat& seat = *work.seat;
  const SlabLayout& layout = plan_.layout;
  std::vector<CopyRange> copies;
  const auto add = [&](size_t offset, size_t bytes) {
    if (bytes > 0) AppendCopy({seat.device + offset, seat.host + offset, bytes}, copies);
  };
  if (plan_.tables_in_place()) {
    add(layout.encoded_at(), work.encoded_used);
    return copies;
  }
  add(0, layout.tables + work.encoded_used);
  if (gather_ != nullptr) return copies;
  for (const int32_t row : work.waves.finished) {
    add(layout.rows_at() + row * layout.row, layout.row);
  }
  return copies;
}

absl::Status DeviceSteps::Enqueue(const BatchWork& work) const {
  if (gather_ != nullptr) {
    const BatchWork* const works[] = {&work};
    return gather_->Enqueue(works, stream(work.stream));
  }
  PENSTOCK_RETURN_IF_ERROR(
      EnqueueSteps(plan_.whole, plan_.encoded_rows, work.waves.of_encoded, work));
  return EnqueueSteps(plan_.behind, plan_.finished_rows, work.waves.of_finished, work);
}

bool DeviceSteps::awaits_report(const BatchWork& work) const {
  const auto rows = absl::MakeConstSpan(work.rows).first(work.count());
  return (plan_.status != kNoTable && !work.waves.encoded.empty()) || !work.filling.empty() ||
         std::any_of(rows.begin(), rows.end(), [](const RowWork& r) { return r.deferred; });
}

absl::Status DeviceSteps::CopyReport(const BatchWork& work) const {
  if (plan_.status == kNoTable || work.waves.encoded.empty()) return absl::OkStatus();
  const Seat& seat = *work.seat;
  return device_.CopyToHost(seat.host + plan_.status, seat.device + plan_.status,
                            work.count() * sizeof(int32_t), stream(work.stream));
}

absl::Status DeviceSteps::CopyFills(const BatchWork& work) const {
  for (const CopyRange& fill : work.fills) {
    PENSTOCK_RETURN_IF_ERROR(
        device_.CopyOnDevice(fill.to, fill.from, fill.bytes, stream(work.stream)));
  }
  return absl::OkStatus();
}

void DeviceSteps::ReadReport(BatchWork& work) const {
  work.to_repair.clear();
  const int32_t* const status = plan_.status != kNoTable ? tables_.Status(*work.seat) : nullptr;
  for (int32_t row = 0; row < work.count(); ++row) {
    const bool damaged = status != nullptr && status[row] != 0;
    if (damaged || work.rows[row].deferred) work.to_repair.push_back(row);
  }
}

std::vector<CopyRange> DeviceSteps::PrepareRepaired(BatchWork& work) const {
  const Seat& seat = *work.seat;
  Waves& waves = work.waves;
  waves.encoded.clear();
  waves.of_encoded.clear();
  waves.finished = work.to_repair;
  tables_.WriteRowList(work, plan_.finished_rows, waves.finished);
  waves.of_finished = PlaceWaves(plan_.behind, waves.finished, work);
  std::vector<CopyRange> copies;
  const auto add = [&](size_t offset, size_t bytes) {
    AppendCopy({seat.device + offset, seat.host + offset, bytes}, copies);
  };
  add(plan_.finished_rows, work.count() * sizeof(int32_t));
  for (const DeviceStep& step : plan_.behind) {
    if (step.end == plan_.chain.links.size()) continue;  // What lies between has new places.
    add(plan_.views[step.end], work.count() * sizeof(FieldView));
  }
  for (const int32_t row : waves.finished) {
    add(plan_.layout.rows_at() + row * plan_.layout.row, plan_.layout.row);
  }
  return copies;
}

absl::Status DeviceSteps::EnqueueSteps(const std::vector<DeviceStep>& steps, size_t row_list,
                                       absl::Span<const Wave> waves, const BatchWork& work) const {
  const Seat& seat = *work.seat;
  std::vector<Table<FieldView>> views;
  std::vector<Table<std::byte>> params;
  int32_t* const reported =
      plan_.status != kNoTable ? reinterpret_cast<int32_t*>(seat.device + plan_.status) : nullptr;
  for (const Wave& wave : waves) {
    for (const DeviceStep& step : steps) {
      views.clear();
      params.clear();
      for (size_t b = step.begin; b <= step.end; ++b) {
        views.push_back(tables_.At<FieldView>(seat, plan_.views[b]));
      }
      for (size_t i = step.begin; i < step.end; ++i) {
        params.push_back(tables_.At<std::byte>(seat, plan_.params[i]));
      }
      DeviceCall call{device_,
                      lanes_[work.stream].stream->ref(),
                      tables_.At<int32_t>(seat, row_list),
                      wave.rows,
                      views,
                      params,
                      {},
                      reported,
                      lanes_[work.stream].arena.data() + wave.scratch_at};
      if (step.descriptors != kNoTable) {
        call.descriptors = tables_.At<std::byte>(seat, step.descriptors);
      }
      if (absl::Status status = step.stage->Enqueue(call); !status.ok()) {
        return Prefixed(absl::StrCat("node '", step.name, "', batch ", work.spec.sequence), status);
      }
    }
    row_list += wave.rows * sizeof(int32_t);
  }
  return absl::OkStatus();
}

std::vector<std::pair<std::string, TensorView>> DeviceSteps::Tensors(const BatchWork& work) const {
  const Seat& seat = *work.seat;
  std::vector<std::pair<std::string, TensorView>> tensors;
  const auto add = [&](const FieldSpec& spec, size_t offset) {
    TensorView view;
    view.data = seat.device + offset;
    view.dtype = spec.dtype;
    view.shape = spec.shape;
    view.shape.insert(view.shape.begin(), work.count());
    view.strides = RowMajorStrides(view.shape);
    view.device = device_.dl_device();
    tensors.emplace_back(spec.name, std::move(view));
  };
  const bool has_output = plan_.gather != nullptr || plan_.chain.links.size() > plan_.chain.cut;
  add(plan_.output(), has_output ? plan_.layout.outputs_at() : plan_.layout.rows_at());
  for (const FixedField& fixed : plan_.fixed) add(fixed.spec, fixed.table);
  return tensors;
}

}  // namespace penstock
