// Colours made of libjpeg's own planes against libjpeg's own colours, pixel by pixel. Runs on the
// host.
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour.cuh"

// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace penstock {
namespace {

struct Format {
  const char* name;
  int components, h, v;
  bool is_ycc;
};
constexpr Format kFormats[] = {
    {"gray", 1, 1, 1, false},    {"4:4:4", 3, 1, 1, true},    {"4:2:2", 3, 2, 1, true},
    {"4:2:0", 3, 2, 2, true},    {"4:4:0", 3, 1, 2, true},    {"4:1:1", 3, 4, 1, true},
    {"RGB 1x1", 3, 1, 1, false}, {"RGB 2x2", 3, 2, 2, false}, {"RGB 1x2", 3, 1, 2, false},
};

struct File {
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::free(bytes); }
};

// Noise: each value of each component occurs, next to each other.
void Encode(const Format& format, int width, int height, File& file) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &file.bytes, &file.size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = format.components;
  info.in_color_space = format.components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  if (format.components == 3 && !format.is_ycc) jpeg_set_colorspace(&info, JCS_RGB);
  jpeg_set_quality(&info, 98, TRUE);
  info.comp_info[0].h_samp_factor = format.h;
  info.comp_info[0].v_samp_factor = format.v;
  for (int c = 1; c < format.components; ++c) {
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  }
  jpeg_start_compress(&info, TRUE);
  std::vector<unsigned char> row(static_cast<size_t>(width) * format.components);
  uint32_t state = static_cast<uint32_t>(width * 131 + height);
  while (info.next_scanline < info.image_height) {
    for (unsigned char& value : row) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<unsigned char>(state >> 24);
    }
    unsigned char* line = row.data();
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
}

// What a file decodes to: the planes, or the colours.
class Decoded {
 public:
  static constexpr int kAround = 16;  // Bytes around each plane.

  Decoded(const File& file, bool raw) {
    jpeg_error_mgr errors;
    info_.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, file.bytes, file.size);
    jpeg_read_header(&info_, TRUE);
    info_.raw_data_out = raw ? TRUE : FALSE;
    if (!raw) info_.out_color_space = JCS_RGB;
    jpeg_start_decompress(&info_);
    width = static_cast<int>(info_.output_width);
    height = static_cast<int>(info_.output_height);
    raw ? ReadPlanes() : ReadColours();
    jpeg_destroy_decompress(&info_);
  }

  JpegPlanes planes;
  std::vector<uint8_t> rgb;
  int width = 0, height = 0;

 private:
  void ReadColours() {
    rgb.resize(static_cast<size_t>(width) * height * 3);
    while (info_.output_scanline < info_.output_height) {
      unsigned char* line = rgb.data() + static_cast<size_t>(info_.output_scanline) * width * 3;
      jpeg_read_scanlines(&info_, &line, 1);
    }
  }

  void ReadPlanes() {
    const jpeg_component_info* components = info_.comp_info;
    const int lines = DCTSIZE * info_.max_v_samp_factor;
    planes.width = width;
    planes.height = height;
    planes.components = static_cast<uint8_t>(info_.num_components);
    planes.is_ycc = info_.jpeg_color_space == JCS_YCbCr ? 1 : 0;
    planes.h = static_cast<uint8_t>(info_.max_h_samp_factor);
    planes.v = static_cast<uint8_t>(info_.max_v_samp_factor);
    if (info_.num_components == 3) {
      planes.chroma_width = static_cast<int32_t>(components[1].downsampled_width);
      planes.chroma_height = static_cast<int32_t>(components[1].downsampled_height);
    }
    for (int c = 0; c < info_.num_components; ++c) {
      planes.stride[c] = static_cast<int32_t>(components[c].width_in_blocks * DCTSIZE + 64);
      memory_[c].assign(static_cast<size_t>(planes.stride[c]) * (height + 2 * lines) + 2 * kAround,
                        0x5A);
      planes.plane[c] = reinterpret_cast<uint64_t>(memory_[c].data() + kAround);
    }
    while (info_.output_scanline < info_.output_height) {
      unsigned char* rows[3][4 * DCTSIZE];
      unsigned char** of_component[3] = {rows[0], rows[1], rows[2]};
      for (int c = 0; c < info_.num_components; ++c) {
        const int own = components[c].v_samp_factor * DCTSIZE;
        const int first = static_cast<int>(info_.output_scanline) / lines * own;
        for (int r = 0; r < own; ++r) {
          rows[c][r] =
              memory_[c].data() + kAround + static_cast<size_t>(first + r) * planes.stride[c];
        }
      }
      jpeg_read_raw_data(&info_, of_component, static_cast<JDIMENSION>(lines));
    }
  }

  jpeg_decompress_struct info_;
  std::vector<uint8_t> memory_[3];
};

// The first pixel of the rows [first, end) that differs, or "".
std::string FirstDifference(const JpegPlanes& planes, const std::vector<uint8_t>& rgb, int first,
                            int end) {
  for (int y = ((first + 1) & ~1) - 1; y < end; y += 2) {
    for (int x = 0; x < planes.width; x += jpeg_colour::kPixels) {
      const jpeg_colour::PixelPair pair =
          jpeg_colour::IsCommon(planes) ? jpeg_colour::Pixels<true>(planes, x, y, first, end)
                                        : jpeg_colour::Pixels<false>(planes, x, y, first, end);
      for (int i = 0; i < 2 * jpeg_colour::kPixels; ++i) {
        const int row = y + i / jpeg_colour::kPixels, column = x + i % jpeg_colour::kPixels;
        if (row < first || row >= end || column >= planes.width) continue;
        const uint8_t* want = rgb.data() + (static_cast<size_t>(row) * planes.width + column) * 3;
        const uint32_t got = pair.row[i / jpeg_colour::kPixels].pixel[i % jpeg_colour::kPixels];
        if (got != static_cast<uint32_t>(want[0] | want[1] << 8 | want[2] << 16)) {
          return "row " + std::to_string(row) + ", column " + std::to_string(column);
        }
      }
    }
  }
  return "";
}

class JpegColour : public testing::TestWithParam<Format> {};

TEST_P(JpegColour, EqualsLibjpeg) {
  const int sides[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50};
  for (const int width : sides) {
    for (const int height : sides) {
      File file;
      Encode(GetParam(), width, height, file);
      const Decoded planes(file, true), colours(file, false);
      ASSERT_EQ(FirstDifference(planes.planes, colours.rgb, 0, height), "")
          << width << " x " << height;
    }
  }
}

// Wherever the rows begin and end, their pixels are the whole image's.
TEST_P(JpegColour, DoesNotDependOnTheWantedRows) {
  constexpr int kHeight = 37;
  File file;
  Encode(GetParam(), 53, kHeight, file);
  const Decoded planes(file, true), colours(file, false);
  for (int first = 0; first < kHeight; ++first) {
    for (int end = first + 1; end <= kHeight; ++end) {
      ASSERT_EQ(FirstDifference(planes.planes, colours.rgb, first, end), "")
          << "rows " << first << " to " << end;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, JpegColour, testing::ValuesIn(kFormats),
                         [](const testing::TestParamInfo<Format>& info) {
                           std::string name;
                           for (const char* c = info.param.name; *c != 0; ++c) {
                             if (std::isalnum(static_cast<unsigned char>(*c)) != 0) name += *c;
                           }
                           return name;
                         });

}  // namespace
}  // namespace penstock
