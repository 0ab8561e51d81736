#include "penstock/graphs/testing/stages.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "penstock/graphs/testing/stages.pb.h"
#include "penstock/stages/batch_stage.h"
#include "penstock/stages/collate/collate_stage.h"
#include "penstock/stages/pin/pin_stage.h"
#include "penstock/stages/sample_stage.h"
#include "penstock/stages/source.h"
#include "penstock/stages/upload/upload_stage.h"

namespace penstock::testing {
namespace {

class ReadImagesStage final : public TypedSource<ReadImages> {
 public:
  std::optional<int64_t> size() const override { return 0; }
  SampleSpec fields() const override { return {{FieldSpec::Encoded("image")}}; }
  std::string key(int64_t) const override { return ""; }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }

 private:
  absl::Status Init() override { return absl::OkStatus(); }
};

template <class Options>
class IdleStage final : public FieldStage<Options> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::Status Process(const NoParams&, const FieldView&, const FieldView&,
                       SampleContext&) const override {
    return absl::OkStatus();
  }
};

class MixUpStage final : public TypedBatchStage<MixUp> {
 public:
  absl::Status Process(HostBatch&, Random&) const override { return absl::OkStatus(); }
};

}  // namespace

const Registry& TestRegistry() {
  static const auto* registry = [] {
    auto* made = new Registry;
    made->Add<ReadImagesStage>();
    made->Add<IdleStage<DecodeImage>>();
    made->Add<IdleStage<Resize>>();
    made->Add<MixUpStage>();
    made->Add<CollateStage>();
    made->Add<PinStage>();
    made->Add<UploadStage>();
    return made;
  }();
  return *registry;
}

}  // namespace penstock::testing
