// Runs a device form of a whole chain over files, and the host stages over the same. For tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/memory/device.h"
#include "penstock/stages/decode/image_chain/testing/test_chain.h"
#include "penstock/stages/device_stage.h"

namespace penstock {

struct ChainCase {
  std::vector<ChainStage> stages;
  std::vector<std::vector<std::byte>> files;
  std::vector<int32_t> rows;  // Those that are run, in any order.
  // For a chain that ends with DecodeImage: by row, the part of the image that is wanted.
  std::vector<std::optional<Region>> parts = {};
  size_t out_shift = 0;  // Bytes that rows are off from alignment.
};

// All that a call could have written: rows with untouched bytes around each, and status by row.
struct ChainOutput {
  std::vector<uint8_t> bytes;
  std::vector<int32_t> status;
};

class ChainRunner {
 public:
  // Each stage's Params are settled, each file described. The case outlives the runner.
  static absl::StatusOr<ChainRunner> Create(const ChainCase& c);

  // Where a row lies in the output: first byte and number of bytes.
  std::pair<size_t, size_t> OutRange(int32_t row) const {
    return {rows_[row].out, static_cast<size_t>(rows_[row].out_bytes)};
  }

  // By the host stages, of the rows that are run.
  absl::StatusOr<ChainOutput> RunHost() { return RunHost(case_.rows); }
  absl::StatusOr<ChainOutput> RunHost(const std::vector<int32_t>& rows);
  // By the form that the default registry has for the chain; NotFound: it has none that accepts.
  // The call gets exactly the scratch memory that the form asks for, with other bytes around it
  // that must stay as they are.
  absl::StatusOr<ChainOutput> RunForm(Device& device);

 private:
  struct Row {
    Resolved resolved;
    std::vector<std::byte*> params;
    size_t in = 0, out = 0;  // Offsets.
    int64_t out_bytes = 0;
  };
  explicit ChainRunner(const ChainCase& c);

  absl::Status ResolveRow(size_t index);
  FieldView InView(size_t row, uint64_t files) const;
  FieldView OutView(size_t row, uint64_t out) const;
  absl::StatusOr<std::unique_ptr<DeviceStage>> MakeForm(DeviceKind kind) const;
  // Of row r at boundary b.
  FieldView View(size_t row, size_t boundary, uint64_t files, uint64_t out) const;

  const ChainCase& case_;
  SampleChain chain_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::byte>> params_;  // By stage, a table by row.
  size_t in_bytes_ = 0, out_bytes_ = 0;
};

}  // namespace penstock
