// The stage of penstock.Normalize; see normalize.proto.
#pragma once

#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/normalize.pb.h"
#include "penstock/stages/transform/normalize_table.h"

namespace penstock {

class NormalizeStage final : public FieldStage<Normalize> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::Status Process(const NoParams& params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const override;

  // For device forms, which look results up as the host form does; after Init.
  const NormalizeTable& table() const { return table_; }

 private:
  NormalizeTable table_;
};

}  // namespace penstock
