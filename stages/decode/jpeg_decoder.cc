#include "penstock/stages/decode/jpeg_decoder.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/stages/decode/jpeg_session.h"

namespace penstock {
namespace {

// What libjpeg gives of the columns at the edges of a part is not what the whole has: interpolation
// takes a part's edge for the image's. It reaches one chroma sample far, 2 columns; and chroma of 2
// samples or fewer is not interpolated at all, which the rest keeps away from.
constexpr int kMargin = 8;

// Rows that libjpeg may write in one call: as many as one row of samples can be stretched to.
constexpr int kRowsAtOnce = MAX_SAMP_FACTOR;

constexpr int kCmyk = 4;

absl::Status CheckColours(const jpeg_decompress_struct& info) {
  if (info.data_precision != BITS_IN_JSAMPLE) {
    return absl::UnimplementedError(
        absl::StrCat(info.data_precision, " bits a sample, expected 8"));
  }
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != kCmyk) {
    return absl::UnimplementedError(
        absl::StrCat(info.num_components, " colour components, expected 1, 3 or 4"));
  }
  return absl::OkStatus();
}

// The last row of MCUs that pixel rows above `bottom` draw on.
int64_t LastMcuRow(const jpeg_decompress_struct& info, int bottom) {
  const bool interpolates_rows =
      std::any_of(info.comp_info, info.comp_info + info.num_components,
                  [&](const auto& c) { return c.v_samp_factor * 2 == info.max_v_samp_factor; });
  const int64_t last_row = int64_t{bottom} - 1 + (interpolates_rows ? 1 : 0);
  return std::min<int64_t>(last_row, info.image_height - 1) / (DCTSIZE * info.max_v_samp_factor);
}

// Whether a file in several scans, all read, has none for a component, or was cut off between
// scans.
bool MissesScans(const JpegSession& session) {
  const jpeg_decompress_struct& info = session.info;
  for (int c = 0; c < info.num_components; ++c) {
    if (info.comp_info[c].quant_table == nullptr) return true;
    if (!info.progressive_mode || !session.ran_out()) continue;
    const int* bits = info.coef_bits[c];  // Yet to come of each coefficient; -1: all.
    if (std::any_of(bits, bits + DCTSIZE2, [](int left) { return left != 0; })) return true;
  }
  return false;
}

// libjpeg smooths blocks of a progressive file whose first coefficients are not all there, by their
// neighbours; at the edges of a part these are not the same.
bool SmoothsBlocks(const jpeg_decompress_struct& info) {
  constexpr int kSmoothed = 10;
  if (!info.progressive_mode) return false;
  for (int c = 0; c < info.num_components; ++c) {
    const int* bits = info.coef_bits[c];
    if (std::any_of(bits, bits + kSmoothed, [](int left) { return left != 0; })) return true;
  }
  return false;
}

// Lets libjpeg leave out columns and rows that `region` does not need. Returns the column that its
// rows begin with.
int SkipTo(jpeg_decompress_struct& info, const Region& region) {
  JDIMENSION first = static_cast<JDIMENSION>(std::max(0, region.x - kMargin));
  JDIMENSION columns =
      std::min<JDIMENSION>(region.x + region.width + kMargin, info.image_width) - first;
  jpeg_crop_scanline(&info, &first, &columns);
  // Whole rows of MCUs, from the top: what libjpeg does right in all versions.
  const JDIMENSION mcu_height = DCTSIZE * info.max_v_samp_factor;
  const JDIMENSION rows = region.y / mcu_height * mcu_height;
  if (rows > 0) jpeg_skip_scanlines(&info, rows);
  return static_cast<int>(first);
}

// Pillow's conversion, of inverted values.
void CmykToRgb(const uint8_t* cmyk, int count, uint8_t* rgb) {
  for (int i = 0; i < count; ++i, cmyk += kCmyk, rgb += 3) {
    const int k = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - cmyk[c]) * k + 128;
      const int ink = ((product >> 8) + product) >> 8;  // The product / 255, rounded.
      rgb[c] = static_cast<uint8_t>(std::max(0, k - ink));
    }
  }
}

// Where libjpeg's rows go: straight to the pixels if they are whole rows of RGB, else to `rows`
// first.
class RowSink {
 public:
  RowSink(const jpeg_decompress_struct& info, const Region& region, int first_column, uint8_t* rows,
          uint8_t* pixels)
      : region_(region),
        components_(info.output_components),
        row_bytes_(size_t{info.output_width} * info.output_components),
        skipped_bytes_(static_cast<size_t>(region.x - first_column) * info.output_components),
        direct_(components_ == 3 && int64_t{info.output_width} == region.width),
        rows_(rows),
        pixels_(pixels) {}

  // Where to write row y of the image if it is the i-th of a call.
  uint8_t* Target(int y, int i) const {
    return direct_ && y >= region_.y ? Pixels(y) : rows_ + i * row_bytes_;
  }
  // The same row has been written.
  void Take(int y, int i) const {
    if (direct_ || y < region_.y) return;
    const uint8_t* from = rows_ + i * row_bytes_ + skipped_bytes_;
    if (components_ == kCmyk) {
      CmykToRgb(from, region_.width, Pixels(y));
    } else {
      std::memcpy(Pixels(y), from, size_t{3} * region_.width);
    }
  }

 private:
  uint8_t* Pixels(int y) const { return pixels_ + int64_t{y - region_.y} * region_.width * 3; }

  const Region region_;
  const int components_;
  const size_t row_bytes_, skipped_bytes_;
  const bool direct_;
  uint8_t* const rows_;
  uint8_t* const pixels_;
};

void ReadRegion(JpegSession& session, const Region& region, uint8_t* rows, uint8_t* pixels) {
  jpeg_decompress_struct& info = session.info;
  info.out_color_space = info.num_components == kCmyk ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  const int bottom = region.y + region.height;
  session.CountDamageUpTo(LastMcuRow(info, bottom));
  jpeg_start_decompress(&info);
  if (jpeg_has_multiple_scans(&info) && MissesScans(session)) session.FailMissingScans();
  const int first_column = SmoothsBlocks(info) ? 0 : SkipTo(info, region);
  const RowSink sink(info, region, first_column, rows, pixels);
  while (int{static_cast<int>(info.output_scanline)} < bottom) {
    const int y = static_cast<int>(info.output_scanline);
    const int wanted = std::min(kRowsAtOnce, bottom - y);
    JSAMPROW targets[kRowsAtOnce];
    for (int i = 0; i < wanted; ++i) targets[i] = sink.Target(y + i, i);
    const int got = static_cast<int>(jpeg_read_scanlines(&info, targets, wanted));
    for (int i = 0; i < got; ++i) sink.Take(y + i, i);
  }
}

}  // namespace

absl::StatusOr<ImageSize> ReadJpegSize(absl::Span<const std::byte> bytes) {
  JpegSession session(bytes);
  if (!session.ReadHeader()) return session.status();
  if (absl::Status status = CheckColours(session.info); !status.ok()) return status;
  return ImageSize{static_cast<int32_t>(session.info.image_height),
                   static_cast<int32_t>(session.info.image_width)};
}

absl::Status JpegDecoder::Decode(absl::Span<const std::byte> bytes, const Region& region,
                                 uint8_t* pixels) {
  JpegSession session(bytes);
  if (!session.ReadHeader()) return session.status();
  if (absl::Status status = CheckColours(session.info); !status.ok()) return status;
  const ImageSize size{static_cast<int32_t>(session.info.image_height),
                       static_cast<int32_t>(session.info.image_width)};
  if (region.ClippedTo(size) != region) {
    return absl::InternalError("the region reaches beyond the image");
  }
  auto* rows =
      reinterpret_cast<uint8_t*>(rows_.Get(size_t{kRowsAtOnce} * kCmyk * session.info.image_width));
  session.Try([&] { ReadRegion(session, region, rows, pixels); });
  return session.status();
}

}  // namespace penstock
