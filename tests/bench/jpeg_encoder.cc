#include "penstock/tests/bench/jpeg_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

// Needs <cstdio> above it.
#include <jpeglib.h>

namespace penstock {
namespace {

// One channel of an image, a value at a time.
class Content {
 public:
  Content(const std::string& what, uint32_t seed) : what_(what), random_(seed) {
    for (Wave& wave : waves_) {
      const double octave = static_cast<double>(&wave - waves_.data()) * 0.5;
      const double angle = Draw() * 2 * M_PI;
      const double frequency = 0.01 * std::exp2(octave);
      wave = {frequency * std::cos(angle), frequency * std::sin(angle), Draw() * 2 * M_PI,
              45 * std::exp2(-0.8 * octave)};
    }
  }

  uint8_t At(int x, int y, int channel) {
    return static_cast<uint8_t>(std::clamp(Value(x, y, channel), 0.0, 255.0));
  }

 private:
  struct Wave {
    double x, y, phase, height;
  };

  double Draw() { return static_cast<double>(random_()) / 4294967296.0; }

  double Value(int x, int y, int channel) {
    if (what_ == "noise") return Draw() * 256;
    if (what_ == "flat") return 40 + 70 * channel;
    if (what_ == "edges") return ((x / 5 + y / 7 + channel) & 1) != 0 ? 255 : 0;
    double value = 128;
    const bool smooth = what_ == "smooth";
    for (size_t i = 0; i < (smooth ? 3 : waves_.size()); ++i) {
      const Wave& wave = waves_[i];
      value += wave.height * std::sin(wave.x * x + wave.y * y + wave.phase + 0.5 * channel);
    }
    return smooth ? value : value + 10 * Draw() - 5;
  }

  std::string what_;
  std::mt19937 random_;
  std::array<Wave, 14> waves_{};
};

void SetColour(const JpegKind& kind, jpeg_compress_struct& c) {
  const std::string& colour = kind.colour;
  const bool gray = colour == "gray", inks = colour == "cmyk" || colour == "ycck";
  c.input_components = gray ? 1 : inks ? 4 : 3;
  c.in_color_space = gray ? JCS_GRAYSCALE : inks ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&c);
  if (colour == "rgb") {
    jpeg_set_colorspace(&c, JCS_RGB);
    c.write_Adobe_marker = TRUE;
  }
  if (inks) jpeg_set_colorspace(&c, colour == "cmyk" ? JCS_CMYK : JCS_YCCK);
}

void SetCoding(const JpegKind& kind, jpeg_compress_struct& c) {
  jpeg_set_quality(&c, kind.quality, kind.wide ? FALSE : TRUE);
  for (int i = 0; i < c.num_components; ++i) {
    c.comp_info[i].h_samp_factor = i == 0 ? kind.h : 1;
    c.comp_info[i].v_samp_factor = i == 0 ? kind.v : 1;
  }
  c.restart_interval = static_cast<unsigned>(kind.restart);
  c.optimize_coding = kind.optimise ? TRUE : FALSE;
  c.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&c);
}

// A scan for each component, so that the file is in several scans without being progressive.
std::vector<jpeg_scan_info> OneScanEach(int components) {
  std::vector<jpeg_scan_info> scans(components);
  for (int i = 0; i < components; ++i) {
    scans[i].comps_in_scan = 1;
    scans[i].component_index[0] = i;
    scans[i].Se = DCTSIZE2 - 1;
  }
  return scans;
}

void WriteRows(const JpegKind& kind, jpeg_compress_struct& c) {
  Content content(kind.content, kind.seed);
  const auto channels = static_cast<size_t>(c.input_components);
  std::vector<uint8_t> row(c.image_width * channels);
  while (c.next_scanline < c.image_height) {
    const int y = static_cast<int>(c.next_scanline);
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = content.At(static_cast<int>(i / channels), y, static_cast<int>(i % channels));
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&c, rows, 1);
  }
}

}  // namespace

std::string EncodeJpeg(const JpegKind& kind) {
  jpeg_compress_struct c{};
  jpeg_error_mgr errors{};
  c.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_compress(&c);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;  // NOLINT(google-runtime-int): libjpeg's.
  jpeg_mem_dest(&c, &memory, &bytes);
  c.image_width = static_cast<JDIMENSION>(kind.width);
  c.image_height = static_cast<JDIMENSION>(kind.height);
  SetColour(kind, c);
  SetCoding(kind, c);
  const std::vector<jpeg_scan_info> scans = OneScanEach(c.num_components);
  if (kind.scans) {
    c.scan_info = scans.data();
    c.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&c, TRUE);
  WriteRows(kind, c);
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  std::string file(reinterpret_cast<char*>(memory), bytes);
  std::free(memory);
  return file;
}

}  // namespace penstock
