// Runs one stage on one image, through the interface that the scheduler uses. For tests.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/text_format.h"
#include "penstock/memory/check.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/sample_stage.h"
#include "penstock/stages/transform/references.h"

namespace penstock {

// Or a part of one, if `region` is not all of it.
struct TestImage {
  Region region;
  int channels = 3;
  std::vector<uint8_t> bytes;

  static TestImage Make(Region region, int channels, int64_t item_bytes = 1) {
    return {region, channels,
            std::vector<uint8_t>(static_cast<size_t>(region.area() * channels * item_bytes))};
  }
  static TestImage From(const ReferenceArray& array) {
    const auto side = [&](int i) { return static_cast<int32_t>(array.shape[i]); };
    return {Region{0, 0, side(0), side(1)}, side(2), array.bytes};
  }
  ImageSize size() const { return {region.height, region.width}; }
  FieldView view(DLDataType dtype = kUint8) const {
    return {.address = reinterpret_cast<uint64_t>(bytes.data()),
            .bytes = static_cast<int64_t>(bytes.size()),
            .region = region,
            .channels = channels,
            .dtype = dtype};
  }
  TestImage Part(const Region& part) const {
    TestImage result = Make(part, channels);
    for (int32_t y = 0; y < part.height; ++y) {
      const size_t row = static_cast<size_t>(part.width) * channels;
      if (row == 0) break;
      std::memcpy(result.bytes.data() + y * row, view().at(part.y + y, part.x), row);
    }
    return result;
  }
};

template <class Stage>
class StageRunner {
 public:
  using Params = typename Stage::Params;

  static absl::StatusOr<StageRunner> Create(const std::string& options, FieldSpec input) {
    StageRunner runner;
    typename Stage::Options message;
    PENSTOCK_CHECK(google::protobuf::TextFormat::ParseFromString(options, &message), options);
    PENSTOCK_RETURN_IF_ERROR(runner.base().Init(message));
    SampleSpec spec;
    spec.fields.push_back(std::move(input));
    PENSTOCK_RETURN_IF_ERROR(runner.base().Infer(spec));
    runner.out_ = spec.fields[0];
    return runner;
  }

  const Stage& stage() const { return *stage_; }
  const FieldSpec& out() const { return out_; }

  // Draws are of sample `key`; `size` becomes that of the output.
  absl::StatusOr<Params> Resolve(ImageSize& size, DrawKey key = {},
                                 const std::string& node = "node") const {
    alignas(16) std::byte params[kMaxParamsBytes];
    Random random(key, RandomKey(node));
    PENSTOCK_RETURN_IF_ERROR(base().Resolve(size, random, params));
    return *reinterpret_cast<const Params*>(params);
  }

  // The region `part` of the output, made from exactly the input that InputRegion names.
  absl::StatusOr<TestImage> Process(const Params& params, const TestImage& image,
                                    const Region& part) {
    const std::optional<Region> needed = stage().InputRegion(params, part);
    const TestImage in =
        needed ? image.Part(needed->ClippedTo(image.size())) : image.Part(image.region);
    TestImage out = TestImage::Make(part, image.channels, ItemBytes(out_.dtype));
    SampleContext context(state_.get(), &scratch_);
    PENSTOCK_RETURN_IF_ERROR(stage().Process(params, in.view(), out.view(out_.dtype), context));
    return out;
  }

  absl::StatusOr<TestImage> Run(const TestImage& image, DrawKey key = {}) {
    ImageSize size = image.size();
    PENSTOCK_ASSIGN_OR_RETURN(const Params params, Resolve(size, key));
    return Process(params, image, Region::Whole(size));
  }

 private:
  StageRunner() : stage_(std::make_unique<Stage>()), state_(base().MakeWorkerState()) {}
  SampleStage& base() const { return *stage_; }

  std::unique_ptr<Stage> stage_;
  std::unique_ptr<WorkerState> state_;
  Scratch scratch_;
  FieldSpec out_;
};

// What Create says of options that it must refuse: the message, or "OK".
template <class Stage>
std::string Refusal(const std::string& options,
                    const FieldSpec& input = FieldSpec::Image("image", {})) {
  const auto runner = StageRunner<Stage>::Create(options, input);
  if (runner.ok()) return "OK";
  if (runner.status().code() != absl::StatusCode::kInvalidArgument) return "wrong status code";
  return std::string(runner.status().message());
}

}  // namespace penstock
