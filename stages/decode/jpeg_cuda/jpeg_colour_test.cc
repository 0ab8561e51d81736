// Colours made of libjpeg's own planes against libjpeg's own colours, pixel by pixel. Runs on the
// host.
#include "penstock/stages/decode/jpeg_cuda/jpeg_colour.cuh"

// clang-format off: jpeglib.h needs cstdio before it.
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cctype>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_samples.h"

namespace penstock {
namespace {

using Colour = JpegSample::Colour;

struct Format {
  const char* name;
  Colour colour;
  int h, v;
};
constexpr Format kFormats[] = {
    {"gray", Colour::kGray, 1, 1},   {"4:4:4", Colour::kYcc, 1, 1},
    {"4:2:2", Colour::kYcc, 2, 1},   {"4:2:0", Colour::kYcc, 2, 2},
    {"4:4:0", Colour::kYcc, 1, 2},   {"4:1:1", Colour::kYcc, 4, 1},
    {"RGB 1x1", Colour::kRgb, 1, 1}, {"RGB 2x2", Colour::kRgb, 2, 2},
    {"RGB 1x2", Colour::kRgb, 1, 2},
};

// Noise: each value of each component occurs, next to each other.
std::vector<std::byte> NoisyFile(const Format& format, int width, int height) {
  return MakeJpeg({.width = width,
                   .height = height,
                   .colour = format.colour,
                   .h = format.h,
                   .v = format.v,
                   .quality = 98,
                   .content = JpegSample::Content::kNoise});
}

std::vector<uint8_t> ReadColours(const std::vector<std::byte>& file) {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row = size_t{info.output_width} * 3;
  std::vector<uint8_t> rgb(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    unsigned char* line = rgb.data() + info.output_scanline * row;
    jpeg_read_scanlines(&info, &line, 1);
  }
  jpeg_destroy_decompress(&info);
  return rgb;
}

// A file's planes as the decoder lays them out: with readable bytes around.
class Planes {
 public:
  Planes(const Format& format, const std::vector<std::byte>& file, int width, int height) {
    planes.width = width;
    planes.height = height;
    planes.components = format.colour == Colour::kGray ? 1 : 3;
    planes.is_ycc = format.colour == Colour::kYcc ? 1 : 0;
    planes.h = static_cast<uint8_t>(format.h);
    planes.v = static_cast<uint8_t>(format.v);
    planes.chroma_width = (width + format.h - 1) / format.h;
    planes.chroma_height = (height + format.v - 1) / format.v;
    const std::vector<RawPlane> raw = ReadRawPlanes(file);
    for (size_t c = 0; c < raw.size(); ++c) {
      constexpr size_t kAround = 16;
      planes.stride[c] = raw[c].stride;
      memory_[c].assign(raw[c].samples.size() + 2 * kAround, 0x5A);
      std::memcpy(memory_[c].data() + kAround, raw[c].samples.data(), raw[c].samples.size());
      planes.plane[c] = reinterpret_cast<uint64_t>(memory_[c].data() + kAround);
    }
  }
  // Changes the samples that no pixel of the columns [first, end) draws on.
  void SpoilBeside(int first, int end) {
    for (int c = 0; c < planes.components; ++c) {
      const int h = c == 0 ? 1 : planes.h, interpolated = h == 2 ? 1 : 0;
      const int width = c == 0 ? planes.width : planes.chroma_width;
      const int height = c == 0 ? planes.height : planes.chroma_height;
      for (int x = 0; x < width; ++x) {
        if (x >= first / h - interpolated && x <= (end - 1) / h + interpolated) continue;
        for (int y = 0; y < height; ++y) {
          *reinterpret_cast<uint8_t*>(planes.plane[c] + int64_t{y} * planes.stride[c] + x) ^= 0xFF;
        }
      }
    }
  }
  JpegPlanes planes;

 private:
  std::vector<uint8_t> memory_[3];
};

// The first pixel of the part that differs, or "".
std::string FirstDifference(const JpegPlanes& planes, const std::vector<uint8_t>& rgb,
                            const jpeg_colour::Part& part) {
  constexpr int kPixels = jpeg_colour::kPixels;
  for (int y = ((part.first_row + 1) & ~1) - 1; y < part.end_row; y += 2) {
    for (int x = part.first_column / kPixels * kPixels; x < part.end_column; x += kPixels) {
      const jpeg_colour::PixelPair pair = jpeg_colour::IsCommon(planes)
                                              ? jpeg_colour::Pixels<true>(planes, x, y, part)
                                              : jpeg_colour::Pixels<false>(planes, x, y, part);
      for (int i = 0; i < 2 * kPixels; ++i) {
        const int row = y + i / kPixels, column = x + i % kPixels;
        if (row < part.first_row || row >= part.end_row) continue;
        if (column < part.first_column || column >= part.end_column) continue;
        const uint8_t* want = rgb.data() + (static_cast<size_t>(row) * planes.width + column) * 3;
        const uint32_t got = pair.row[i / kPixels].pixel[i % kPixels];
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
      const std::vector<std::byte> file = NoisyFile(GetParam(), width, height);
      const Planes planes(GetParam(), file, width, height);
      ASSERT_EQ(FirstDifference(planes.planes, ReadColours(file), {0, height, 0, width}), "")
          << width << " x " << height;
    }
  }
}

// Wherever the rows begin and end, their pixels are the whole image's.
TEST_P(JpegColour, DoesNotDependOnTheWantedRows) {
  constexpr int kWidth = 53, kHeight = 37;
  const std::vector<std::byte> file = NoisyFile(GetParam(), kWidth, kHeight);
  const Planes planes(GetParam(), file, kWidth, kHeight);
  const std::vector<uint8_t> rgb = ReadColours(file);
  for (int first = 0; first < kHeight; ++first) {
    for (int end = first + 1; end <= kHeight; ++end) {
      ASSERT_EQ(FirstDifference(planes.planes, rgb, {first, end, 0, kWidth}), "")
          << "rows " << first << " to " << end;
    }
  }
}

// The same of columns; what lies beside them need not be there.
TEST_P(JpegColour, DoesNotDependOnTheWantedColumns) {
  constexpr int kWidth = 53, kHeight = 19;
  const std::vector<std::byte> file = NoisyFile(GetParam(), kWidth, kHeight);
  const std::vector<uint8_t> rgb = ReadColours(file);
  for (int first = 0; first < kWidth; ++first) {
    for (int end = first + 1; end <= kWidth; ++end) {
      Planes planes(GetParam(), file, kWidth, kHeight);
      planes.SpoilBeside(first, end);
      ASSERT_EQ(FirstDifference(planes.planes, rgb, {0, kHeight, first, end}), "")
          << "columns " << first << " to " << end;
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
