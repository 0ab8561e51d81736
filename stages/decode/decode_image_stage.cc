#include "penstock/stages/decode/decode_image_stage.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/decode/image_format.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<DecodeImageStage> kHostForm;

// Pillow's: twice Image.MAX_IMAGE_PIXELS, above which it refuses an image.
constexpr int64_t kDefaultMaxPixels = 178956970;
constexpr int64_t kMostPixels = int64_t{65535} * 65535;

absl::Span<const std::byte> BytesOf(const FieldView& encoded) {
  return absl::MakeConstSpan(encoded.data(), static_cast<size_t>(encoded.bytes));
}

}  // namespace

Place DecodeImageStage::place() const {
  switch (options().device()) {
    case DecodeImage::HOST:
      return Place::kHost;
    case DecodeImage::DEVICE:
      return Place::kDevice;
    default:
      return Place::kAuto;
  }
}

absl::Status DecodeImageStage::Init() {
  max_pixels_ = options().has_max_pixels() ? options().max_pixels() : kDefaultMaxPixels;
  if (max_pixels_ >= 1 && max_pixels_ <= kMostPixels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("max_pixels is ", max_pixels_, ", expected 1 to ", kMostPixels));
}

absl::Status DecodeImageStage::Infer(FieldSpec& field) const {
  if (!field.encoded) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", field.name, "' is ", field.ToString(), ", expected the bytes of a file"));
  }
  field = FieldSpec::Image(field.name, {});
  return absl::OkStatus();
}

absl::Status DecodeImageStage::Probe(const FieldView& encoded, ImageSize& size) const {
  const absl::Span<const std::byte> bytes = BytesOf(encoded);
  PENSTOCK_ASSIGN_OR_RETURN(const ImageFormat format, ImageFormatOf(bytes));
  PENSTOCK_ASSIGN_OR_RETURN(
      size, format == ImageFormat::kJpeg ? ReadJpegSize(bytes) : ReadPngSize(bytes));
  const int64_t pixels = int64_t{size.height} * size.width;
  if (pixels <= max_pixels_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("image is ", size.width, " x ", size.height,
                                                   " = ", pixels, " pixels, more than max_pixels (",
                                                   max_pixels_, ")"));
}

// The pixels of `out` are the ones of the encoded image.
std::optional<Region> DecodeImageStage::InputRegion(const NoParams&, const Region& out) const {
  return out;
}

absl::Status DecodeImageStage::Process(const NoParams&, const FieldView& in, const FieldView& out,
                                       SampleContext& context) const {
  if (out.region.empty()) return absl::OkStatus();
  const absl::Span<const std::byte> bytes = BytesOf(in);
  PENSTOCK_ASSIGN_OR_RETURN(const ImageFormat format, ImageFormatOf(bytes));
  auto& decoders = context.state<ImageDecoders>();
  auto* pixels = out.data<uint8_t>();
  return format == ImageFormat::kJpeg ? decoders.jpeg.Decode(bytes, out.region, pixels)
                                      : decoders.png.Decode(bytes, out.region, pixels);
}

}  // namespace penstock
