#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Colour = JpegSample::Colour;
using Content = JpegSample::Content;

// One picture, a value at a time: in the order of rows, pixels and channels.
class Picture {
 public:
  Picture(Content content, uint32_t seed) : content_(content), random_(seed) {
    if (content == Content::kPhoto || content == Content::kSmooth) DrawWaves();
  }

  uint8_t At(int x, int y, int channel) {
    return static_cast<uint8_t>(std::clamp(Value(x, y, channel), 0.0, 255.0));
  }

 private:
  struct Wave {
    double x, y, phase, height;
  };
  static constexpr int kSmoothWaves = 3;

  double Draw() { return static_cast<double>(random_()) / 4294967296.0; }

  // Each higher and lower than the one before.
  void DrawWaves() {
    for (Wave& wave : waves_) {
      const double octave = static_cast<double>(&wave - waves_.data()) * 0.5;
      const double angle = Draw() * 2 * M_PI;
      const double frequency = 0.01 * std::exp2(octave);
      wave = {frequency * std::cos(angle), frequency * std::sin(angle), Draw() * 2 * M_PI,
              45 * std::exp2(-0.8 * octave)};
    }
  }

  double Waves(int count, int x, int y, int channel) const {
    double value = 128;
    for (int i = 0; i < count; ++i) {
      const Wave& wave = waves_[i];
      value += wave.height * std::sin(wave.x * x + wave.y * y + wave.phase + 0.5 * channel);
    }
    return value;
  }

  double Value(int x, int y, int channel) {
    switch (content_) {
      case Content::kHills:
        return 128 + (90 * std::sin(x * 0.05 * (channel + 1)) * std::cos(y * 0.04) +
                      8.0 * (random_() % 3));
      case Content::kNoise:
        return random_() % 256;
      case Content::kEdges:
        return ((x / 5 + y / 7 + channel) & 1) != 0 ? 255 : 0;
      case Content::kPhoto:
        return Waves(static_cast<int>(waves_.size()), x, y, channel) + 10 * Draw() - 5;
      case Content::kSmooth:
        return Waves(kSmoothWaves, x, y, channel);
      case Content::kFlat:
        break;
    }
    return 40 + 70 * channel;
  }

  const Content content_;
  std::mt19937 random_;
  std::array<Wave, 14> waves_{};
};

void SetColour(Colour colour, jpeg_compress_struct& info) {
  const bool is_gray = colour == Colour::kGray;
  const bool has_inks = colour == Colour::kCmyk || colour == Colour::kYcck;
  info.input_components = is_gray ? 1 : has_inks ? 4 : 3;
  info.in_color_space = is_gray ? JCS_GRAYSCALE : has_inks ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  if (colour == Colour::kRgb) jpeg_set_colorspace(&info, JCS_RGB);
  if (has_inks) jpeg_set_colorspace(&info, colour == Colour::kCmyk ? JCS_CMYK : JCS_YCCK);
}

void SetCoding(const JpegSample& sample, jpeg_compress_struct& info) {
  jpeg_set_quality(&info, sample.quality, sample.wide ? FALSE : TRUE);
  for (int c = 0; c < info.num_components; ++c) {
    info.comp_info[c].h_samp_factor = c == 0 ? sample.h : 1;
    info.comp_info[c].v_samp_factor = c == 0 ? sample.v : 1;
  }
  info.restart_interval = sample.restart_interval;
  info.optimize_coding = sample.optimised ? TRUE : FALSE;
  info.arith_code = sample.arithmetic ? TRUE : FALSE;
  if (sample.progressive) jpeg_simple_progression(&info);
}

// A scan for each component, so that the file is in several scans without being progressive.
std::vector<jpeg_scan_info> OneScanEach(int components) {
  std::vector<jpeg_scan_info> scans(components);
  for (int c = 0; c < components; ++c) {
    scans[c].comps_in_scan = 1;
    scans[c].component_index[0] = c;
    scans[c].Se = DCTSIZE2 - 1;
  }
  return scans;
}

void WriteRows(const JpegSample& sample, jpeg_compress_struct& info) {
  Picture picture(sample.content, sample.seed);
  std::vector<uint8_t> row(size_t{info.image_width} * info.input_components);
  for (int y = 0; y < sample.height; ++y) {
    for (int x = 0; x < sample.width; ++x) {
      for (int c = 0; c < info.input_components; ++c) {
        row[x * info.input_components + c] = picture.At(x, y, c);
      }
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&info, rows, 1);
  }
}

}  // namespace

std::string JpegSample::ToString() const {
  return absl::StrCat(width, "x", height, " colour ", static_cast<int>(colour), " sampling ", h,
                      "x", v, " quality ", quality, " restart ", restart_interval,
                      optimised ? " optimised" : "", " content ", static_cast<int>(content),
                      " seed ", seed);
}

std::vector<std::byte> MakeJpeg(const JpegSample& sample) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's.
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(sample.width);
  info.image_height = static_cast<JDIMENSION>(sample.height);
  SetColour(sample.colour, info);
  SetCoding(sample, info);
  const std::vector<jpeg_scan_info> scans = OneScanEach(info.num_components);
  if (sample.scans) {
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  WriteRows(sample, info);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  const auto* first = reinterpret_cast<const std::byte*>(bytes);
  std::vector<std::byte> file(first, first + size);
  std::free(bytes);
  return file;
}

}  // namespace penstock
