// SlabLayout: what lies where in a slab. A slab holds one batch; each seat has one on the host and
// one on the device.
//
//   tables  | encoded | rows | (device only) outputs
//
// Tables hold numbers by row: fixed fields (labels), each stage's Params, descriptors, one
// FieldView a stage boundary, row lists. They lie directly before the encoded part, so that both go
// up in one copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

inline constexpr size_t kSlabAlignment = 256;  // CUDA's own for allocations; vector loads need 16.

constexpr size_t AlignUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// One table: `bytes_per_row` by `batch`, then padding up to the next table.
struct SlabTable {
  size_t offset = 0, bytes_per_row = 0;
};

// Made at plan time; immutable afterwards. All numbers are bytes except `batch` (rows).
struct SlabLayout {
  int64_t batch = 0;
  std::vector<SlabTable> table_list;  // In order; they fill [0, tables).
  size_t tables = 0;
  size_t encoded = 0;
  size_t row = 0;      // One row; rows lie without gaps, since they may be the delivered tensor.
  size_t outputs = 0;  // All rows of the last device step's output.

  // Adds a table of `bytes_per_row` by `batch`; returns its offset.
  size_t AddTable(size_t bytes_per_row) {
    const size_t offset = tables;
    table_list.push_back({offset, bytes_per_row});
    tables += AlignUp(bytes_per_row * static_cast<size_t>(batch), kSlabAlignment);
    return offset;
  }
  size_t encoded_at() const { return tables; }
  size_t rows_at() const { return AlignUp(tables + encoded, kSlabAlignment); }
  size_t row_bytes() const { return row * static_cast<size_t>(batch); }
  size_t outputs_at() const { return AlignUp(rows_at() + row_bytes(), kSlabAlignment); }
  size_t host_bytes() const { return rows_at() + row_bytes(); }
  size_t device_bytes() const { return outputs_at() + outputs; }
};

}  // namespace penstock
