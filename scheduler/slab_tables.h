// SlabTables: the plan's tables in a batch's slab. Every byte of them is written once a batch, so
// what goes up is defined also where a batch has fewer rows than its slab.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "penstock/scheduler/batch_work.h"
#include "penstock/scheduler/execution_plan.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/gather_stage.h"

namespace penstock {

// Immutable; const calls are thread-safe for different rows.
class SlabTables {
 public:
  // `plan` must outlive it.
  explicit SlabTables(const ExecutionPlan& plan);

  // Makes room for what stays on the host. Before any row is worked on.
  void Start(BatchWork& work) const;

  // Where link `link` has its Params of `row`: in the slab if the device needs them, else on the
  // host.
  std::byte* Params(BatchWork& work, int row, size_t link) const;
  // The Params of rows from `row` on, where all of them stay on the host.
  ParamRows HostParams(const BatchWork& work, int row) const {
    return {work.host_params.data() + row * host_params_row_, host_params_row_, host_params_at_};
  }
  // The pointers of a row, for SampleChain. `out` has one a link.
  void AllParams(BatchWork& work, int row, absl::Span<std::byte*> out) const;

  // Row `row` of the slab's rows part, on the host or on the device.
  FieldView HostRow(const Seat& seat, int row) const;
  FieldView DeviceRow(const Seat& seat, int row) const;

  // Writes the views of a row at all boundaries that have a table. `encoded`: device view of its
  // encoded bytes. What lies between device steps gets its address later (DeviceSteps).
  void WriteViews(BatchWork& work, int row, const FieldView& encoded) const;
  FieldView* View(const Seat& seat, size_t boundary, int row) const;

  // What the device reports of each row, as the host has it. Needs a plan with that table.
  int32_t* Status(const Seat& seat) const {
    return reinterpret_cast<int32_t*>(seat.host + plan_.status);
  }

  void WriteRowList(BatchWork& work, size_t table, absl::Span<const int32_t> rows) const;

  // Zeroes what no row of this batch has written: entries of missing rows, and padding. Counts the
  // table bytes as written. Once, when all rows are done.
  void Seal(BatchWork& work) const;

  template <class T>
  Table<T> At(const Seat& seat, size_t offset) const {
    return {reinterpret_cast<T*>(seat.host + offset), reinterpret_cast<T*>(seat.device + offset)};
  }

 private:
  const ExecutionPlan& plan_;
  std::vector<size_t> host_params_at_;  // By link: offset of a row's block in host_params, per row.
  size_t host_params_row_ = 0;
  size_t boundaries_;
};

}  // namespace penstock
