// The source of penstock.ReadArray; see read_array.proto.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/stages/read/array_file.h"
#include "penstock/stages/read/read_array.pb.h"
#include "penstock/stages/source.h"

namespace penstock {

class ReadArrayStage final : public TypedSource<ReadArray> {
 public:
  std::optional<int64_t> size() const override { return array_.rows; }
  SampleSpec fields() const override;
  uint64_t fingerprint() const override;
  std::string summary() const override;
  std::optional<StoredRows> stored_rows() const override;
  std::string key(int64_t id) const override;
  Extent Locate(int64_t id) const override;
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext& context) const override;

 private:
  absl::Status Init() override;

  ArrayFile array_;
  FileAccess access_ = FileAccess::kAuto;
};

}  // namespace penstock
