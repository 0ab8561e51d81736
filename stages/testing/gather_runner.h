// Runs gather forms of whole chains, so that a kernel can be held against SimGather. For tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/memory/device.h"
#include "penstock/stages/gather_stage.h"

namespace penstock {

// A stage by the full name of its options message, and its options as text.
struct StageText {
  std::string name, options;
};

// The host stages of a chain, with the specs between them.
class GatherChain {
 public:
  static absl::StatusOr<GatherChain> Create(const FieldSpec& input,
                                            const std::vector<StageText>& stages);
  const std::vector<FieldSpec>& specs() const { return specs_; }  // By boundary.
  // The form that the default registry has for the chain, not prepared yet. NotFound: it has none.
  // The chain outlives it.
  absl::StatusOr<std::unique_ptr<GatherStage>> MakeForm(DeviceKind kind) const;

  // The Params of samples as the chain's stages settle them.
  struct Params {
    std::vector<std::byte> bytes;
    std::vector<size_t> offsets;
    size_t stride = 0;
    ParamRows rows() const { return {bytes.data(), stride, offsets}; }
  };
  absl::StatusOr<Params> Resolve(const std::vector<int64_t>& ids) const;

 private:
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<SampleStage>> stages_;
  std::vector<FieldSpec> specs_;
};

// One call of a gather form: what it gathers, and where everything lies.
struct GatherCase {
  std::vector<int32_t> counts = {1, 3};  // Rows, by batch.
  size_t shift = 0, gap = 0;             // Bytes before the first kept row, and between two.
  bool rows_on_host = false;             // In page-locked memory.
  bool entries_on_device = false;        // Else in page-locked memory.
  size_t out_shift = 0;                  // Bytes that each batch's output is off from alignment.
  std::vector<size_t> carries = {};      // Bytes of each, the same for all batches.
};

// The memory of `device` for one case at a time; grows only.
class GatherRunner {
 public:
  explicit GatherRunner(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  // All that the chain's form could have written: the outputs and the carries of all batches, with
  // untouched bytes around each. Which rows are kept, and which of them are gathered, is the same
  // on every device.
  absl::StatusOr<std::vector<uint8_t>> Run(const GatherChain& chain, const GatherCase& c);

 private:
  // What the batches of a case read and write, by batch.
  struct Layout;

  // Page-locked or device memory of at least `bytes`, in `buffer`.
  absl::Status Grow(Buffer& buffer, size_t bytes, bool on_host);
  absl::Status KeepRows(size_t bytes, bool on_host);
  absl::Status PackEntries(const GatherChain& chain, const GatherStage& form, const GatherCase& c,
                           Layout& layout);

  const std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Buffer host_rows_, rows_, host_entries_, entries_, labels_, out_;
};

}  // namespace penstock
