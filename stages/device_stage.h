// The contract of a device form: one stage, or several in a row as one, for a list of rows of a
// batch, in stream order.
//
//   class NormalizeCuda final : public DeviceForm<DeviceKind::kCuda, NormalizeStage> { ... };
//   const StageRegistration<NormalizeCuda> kCudaForm;
//   const StageRegistration<SimForm<NormalizeStage>> kSimForm;  // The host body, on a SimDevice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "penstock/memory/device.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/form_of.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

// An array in the slab's tables: as the host wrote it, and its copy on the device.
template <class T>
struct Table {
  const T* host = nullptr;
  const T* device = nullptr;
};

// What one Enqueue() is to do. Rows outside `rows` are not to be touched. All memory stays valid
// until the batch's work is done; the struct itself only during the call.
struct DeviceCall {
  Device& device;
  StreamRef stream;
  Table<int32_t> rows;  // `count` row numbers; the tables below are indexed by them.
  int32_t count = 0;
  // One a boundary of the sequence, first (input) to last (output); n stages have n + 1. Only the
  // first and the last have an address; between them `region` says what is needed.
  absl::Span<const Table<FieldView>> views;
  absl::Span<const Table<std::byte>> params;  // One a stage, stride params_bytes().
  Table<std::byte> descriptors;               // Stride descriptor_bytes().
  // On the device, by row, 0 before: a form that reports_status() writes another number for a row
  // that is damaged. Such a row is done again by the host form, which has the last word on it.
  int32_t* status = nullptr;
  // scratch_bytes() and the row_scratch_bytes() of all rows, at a multiple of 256; gone after this
  // call's work.
  std::byte* scratch = nullptr;

  const Table<FieldView>& in() const { return views.front(); }
  const Table<FieldView>& out() const { return views.back(); }
};

// One row of a batch, as the host knows it before its upload.
struct RowShape {
  const std::byte* descriptor = nullptr;
  absl::Span<const Region> regions;  // By boundary of the sequence; n stages have n + 1.
};

// Thread-safe. Made from the host stages themselves, never from options again: they outlive it.
class DeviceStage {
 public:
  virtual ~DeviceStage() = default;
  // Whether it can do what its stages' options ask for; asked at plan time. If not, it is as if
  // there were no such form.
  virtual bool accepts() const { return true; }
  // Device memory that one call needs for `batch` rows; asked once, at plan time.
  virtual size_t scratch_bytes(int64_t batch) const {
    (void)batch;
    return 0;
  }
  // What one row adds to that. A row that is too large by itself takes its host form; a call whose
  // rows are too large together becomes several.
  virtual size_t row_scratch_bytes(const RowShape& row) const {
    (void)row;
    return 0;
  }
  // Whether DeviceCall.status is written. Only for the first stages of a chain (encoded input).
  virtual bool reports_status() const { return false; }
  // Bytes that Describe() writes a sample, a multiple of 16.
  virtual size_t descriptor_bytes() const { return 0; }
  // On the host, for stages whose input is encoded: what the kernel needs to know of the header.
  // False: this sample takes its host form. A function of the bytes and the size alone.
  virtual bool Describe(const FieldView& encoded, ImageSize size, std::byte* descriptor) const {
    (void)encoded, (void)size, (void)descriptor;
    return true;
  }
  // Puts the work into call.stream. Neither synchronises nor allocates.
  virtual absl::Status Enqueue(const DeviceCall& call) const = 0;
};

// What authors derive from: the device form of the sequence `Host...` on devices of kind `Kind`.
template <DeviceKind Kind, class... Host>
class DeviceForm : public FormOf<DeviceStage, Kind, Host...> {
 public:
  using FormOf<DeviceStage, Kind, Host...>::FormOf;
};

// The host bodies of `Host...`, one after the other, as a device form on a SimDevice; also the
// reference that a kernel is tested against. A body that fails makes the device fail, as a faulting
// kernel would; of a form that reports_status() it is the status of its row.
template <class... Host>
class SimForm : public DeviceForm<DeviceKind::kSim, Host...> {
 public:
  using DeviceForm<DeviceKind::kSim, Host...>::DeviceForm;

  absl::Status Enqueue(const DeviceCall& call) const override {
    auto& sim = static_cast<SimDevice&>(call.device);
    std::vector<Table<FieldView>> views(call.views.begin(), call.views.end());
    std::vector<Table<std::byte>> params(call.params.begin(), call.params.end());
    int32_t* const reported = this->reports_status() ? call.status : nullptr;
    return sim.Launch(call.stream,
                      [this, &sim, rows = call.rows.device, count = call.count, reported,
                       views = std::move(views), params = std::move(params)] {
                        Worker worker(this);
                        for (int32_t i = 0; i < count; ++i) {
                          absl::Status status = RunRow(rows[i], views, params, worker);
                          if (status.ok()) continue;
                          if (reported == nullptr) return sim.Fail(std::move(status));
                          reported[rows[i]] = 1;
                        }
                      });
  }

 private:
  static constexpr size_t kStages = sizeof...(Host);
  struct Worker {
    explicit Worker(const SimForm* form) {
      [&]<size_t... I>(std::index_sequence<I...>) {
        (states.push_back(form->stage(I).MakeWorkerState()), ...);
      }(std::index_sequence_for<Host...>());
    }
    std::vector<std::unique_ptr<WorkerState>> states;
    Scratch between[2], context;
  };

  const SampleStage& stage(size_t i) const {
    const SampleStage* stages[kStages];
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((stages[I] = &this->template host<I>()), ...);
    }(std::index_sequence_for<Host...>());
    return *stages[i];
  }

  absl::Status RunRow(int32_t row, std::span<const Table<FieldView>> views,
                      std::span<const Table<std::byte>> params, Worker& worker) const {
    FieldView in = views[0].device[row];
    for (size_t i = 0; i < kStages; ++i) {
      const SampleStage& body = stage(i);
      FieldView out = views[i + 1].device[row];
      if (i + 1 < kStages) {
        out.bytes = out.region.area() * out.channels * ItemBytes(out.dtype);
        out.address = reinterpret_cast<uint64_t>(worker.between[i % 2].Get(out.bytes));
      }
      const std::byte* p = params[i].device + row * body.params_bytes();
      SampleContext context(worker.states[i].get(), &worker.context);
      if (absl::Status status = body.Process(p, in, out, context); !status.ok()) return status;
      in = out;
    }
    return absl::OkStatus();
  }
};

}  // namespace penstock
