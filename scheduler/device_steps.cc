#include "penstock/scheduler/device_steps.h"

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr size_t kViewAlignment = 16;

}  // namespace

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

size_t DeviceSteps::device_bytes() const {
  return lanes_.size() * (plan_.scratch_bytes + plan_.arena_bytes);
}

void DeviceSteps::Prepare(BatchWork& work) const {
  if (gather_ != nullptr) return;
  Waves& waves = work.waves;
  waves.encoded.clear();
  waves.finished.clear();
  for (int32_t row = 0; row < work.count(); ++row) {
    (work.rows[row].finished ? waves.finished : waves.encoded).push_back(row);
  }
  tables_.WriteRowList(work, plan_.encoded_rows, waves.encoded);
  tables_.WriteRowList(work, plan_.finished_rows, waves.finished);
  waves.encoded_sizes = PlaceWaves(plan_.whole, waves.encoded, work);
  waves.finished_sizes = PlaceWaves(plan_.behind, waves.finished, work);
}

std::vector<int> DeviceSteps::PlaceWaves(const std::vector<DeviceStep>& steps,
                                         absl::Span<const int32_t> rows, BatchWork& work) const {
  std::vector<int> sizes;
  if (steps.empty() || rows.empty()) return sizes;
  std::byte* arena = lanes_[work.stream].arena.data() + plan_.scratch_bytes;
  const size_t last = plan_.chain.links.size();
  size_t used = 0;
  sizes.push_back(0);
  for (const int32_t row : rows) {
    size_t needed = 0;
    for (int pass = 0; pass < 2; ++pass) {  // Measure, then place.
      size_t at = used;
      for (const DeviceStep& step : steps) {
        if (step.end == plan_.chain.cut || step.end == last) continue;
        FieldView& view = *tables_.View(*work.seat, step.end, row);
        view.bytes = view.region.area() * view.channels * ItemBytes(view.dtype);
        view.address = reinterpret_cast<uint64_t>(arena + at);
        at += AlignUp(view.bytes, kViewAlignment);
      }
      needed = at - used;
      if (used + needed <= plan_.arena_bytes) break;
      used = 0;  // The row begins a wave of its own.
      sizes.push_back(0);
    }
    used += needed;
    ++sizes.back();
  }
  return sizes;
}

std::vector<CopyRange> DeviceSteps::Copies(const BatchWork& work) const {
  const Seat& seat = *work.seat;
  const SlabLayout& layout = plan_.layout;
  std::vector<CopyRange> copies;
  const auto add = [&](size_t offset, size_t bytes) {
    if (bytes == 0) return;
    // Neighbouring ranges go up as one.
    if (!copies.empty() && copies.back().from + copies.back().bytes == seat.host + offset) {
      copies.back().bytes += bytes;
    } else {
      copies.push_back({seat.device + offset, seat.host + offset, bytes});
    }
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
      EnqueueSteps(plan_.whole, plan_.encoded_rows, work.waves.encoded_sizes, work));
  return EnqueueSteps(plan_.behind, plan_.finished_rows, work.waves.finished_sizes, work);
}

absl::Status DeviceSteps::EnqueueSteps(const std::vector<DeviceStep>& steps, size_t row_list,
                                       absl::Span<const int> wave_sizes,
                                       const BatchWork& work) const {
  const Seat& seat = *work.seat;
  std::vector<Table<FieldView>> views;
  std::vector<Table<std::byte>> params;
  for (const int rows : wave_sizes) {
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
                      rows,
                      views,
                      params,
                      {},
                      {},
                      lanes_[work.stream].arena.data()};
      if (step.descriptors != kNoTable) {
        call.descriptors = tables_.At<std::byte>(seat, step.descriptors);
      }
      if (absl::Status status = step.stage->Enqueue(call); !status.ok()) {
        return Prefixed(absl::StrCat("node '", step.name, "', batch ", work.spec.sequence), status);
      }
    }
    row_list += rows * sizeof(int32_t);
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
