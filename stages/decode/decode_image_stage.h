// The host form of penstock.DecodeImage; see decode_image.proto.
#pragma once

#include <cstdint>

#include "penstock/stages/decode/decode_image.pb.h"
#include "penstock/stages/decode/jpeg_decoder.h"
#include "penstock/stages/decode/png_decoder.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

struct ImageDecoders {
  JpegDecoder jpeg;
  PngDecoder png;
};

class DecodeImageStage final : public FieldStage<DecodeImage, NoParams, ImageDecoders> {
 public:
  Place place() const override;
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::Status Probe(const FieldView& encoded, ImageSize& size) const override;
  std::optional<Region> InputRegion(const NoParams& params, const Region& out) const override;
  absl::Status Process(const NoParams& params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const override;

 private:
  int64_t max_pixels_ = 0;
};

}  // namespace penstock
