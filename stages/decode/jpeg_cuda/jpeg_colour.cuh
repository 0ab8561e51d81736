// From the samples of an image's planes to RGB pixels, as libjpeg-turbo 2.1.5 makes them: chroma is
// interpolated ("fancy upsampling"), then converted. Eight pixels of two rows at a time, so that
// two rows of chroma serve two rows of pixels. Host code may include this too (tests do).
//
// Interpolated values are kept as pairs of 16-bit halves: pixels 0 and 2, 4 and 6, 1 and 3, 5 and
// 7.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"

namespace penstock::jpeg_colour {

inline constexpr int kPixels = 8;  // Of a row that are made at once.

// Red in the lowest byte, then green, blue and 0.
struct PixelRow {
  uint32_t pixel[kPixels];
};
struct PixelPair {
  PixelRow row[2];
};

template <class Word>
__host__ __device__ inline Word Load(uint64_t address) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const Word*>(address);
#else
  Word word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
#endif
}

// Nibble i of `selector` says which byte becomes byte i: 0 to 3 of `low`, 4 to 7 of `high`.
__host__ __device__ inline uint32_t PickBytes(uint32_t low, uint32_t high, uint32_t selector) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(low, high, selector);
#else
  const uint64_t bytes = uint64_t{high} << 32 | low;
  uint32_t picked = 0;
  for (int i = 0; i < 4; ++i) {
    picked |= static_cast<uint32_t>(bytes >> (selector >> (4 * i) & 7) * 8 & 255) << (8 * i);
  }
  return picked;
#endif
}

// Each colour is saturated to 0..255.
__host__ __device__ inline uint32_t PackPixel(int red, int green, int blue) {
#if defined(__CUDA_ARCH__)
  uint32_t upper, pixel;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(0), "r"(blue));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(pixel) : "r"(green), "r"(red), "r"(upper));
  return pixel;
#else
  const auto saturated = [](int value) {
    return static_cast<uint32_t>(value < 0 ? 0 : value > 255 ? 255 : value);
  };
  return saturated(red) | saturated(green) << 8 | saturated(blue) << 16;
#endif
}

// Eight values of one component in a row.
struct Values {
  uint32_t even[2], odd[2];
};
inline constexpr uint32_t kLowBytes = 0x00FF00FF;

// Four neighbouring samples of a row, and one to either side, as pairs of halves.
struct Samples {
  uint32_t first, last, beside;
};

// The part of an image that is looked at: what of the planes no pixel of it draws on may not be
// there.
struct Part {
  int first_row, end_row, first_column, end_column;

  // Whether the first, and the last, of the pixels x to x + 7 belong to it.
  __host__ __device__ bool HasFirst(int x) const { return x >= first_column; }
  __host__ __device__ bool HasLast(int x) const { return x + kPixels <= end_column; }
};

// Samples from column `x` on, a multiple of 4 within the row, for the pixels from 2 x on. Libjpeg
// takes what is beside the first and the last sample of a row of `width` for equal to it.
__host__ __device__ inline Samples LoadSamples(uint64_t row, int x, int width, const Part& part) {
  uint32_t word = Load<uint32_t>(row + x);
  const int last = width - 1 - x;
  if (last < 3) word = PickBytes(word, 0, last == 0 ? 0x0000 : last == 1 ? 0x1110 : 0x2210);
  uint32_t left = word & 255, right = word >> 24;
  if (x > 0 && part.HasFirst(2 * x)) left = Load<uint8_t>(row + x - 1);
  if (last >= 4 && part.HasLast(2 * x)) right = Load<uint8_t>(row + x + 4);
  return {PickBytes(word, 0, 0x4140), PickBytes(word, 0, 0x4342), left | right << 16};
}

// 3/4 of the near row and 1/4 of the far one, times 4.
__host__ __device__ inline Samples Between(const Samples& near, const Samples& far) {
  return {3 * near.first + far.first, 3 * near.last + far.last, 3 * near.beside + far.beside};
}

// Twice as many columns: 3/4 of the near and 1/4 of the far sample. Libjpeg rounds even and odd
// columns differently, so that neither way wins.
template <int kShift>
__host__ __device__ inline Values Widen(const Samples& s, uint32_t even, uint32_t odd) {
  const uint32_t before_first = PickBytes(s.beside, s.first, 0x5410);
  const uint32_t middle = PickBytes(s.first, s.last, 0x5432);
  const uint32_t behind_last = PickBytes(s.last, s.beside, 0x7632);
  const uint32_t first = 3 * s.first, last = 3 * s.last;
  return {{(first + before_first + even) >> kShift & kLowBytes,
           (last + middle + even) >> kShift & kLowBytes},
          {(first + middle + odd) >> kShift & kLowBytes,
           (last + behind_last + odd) >> kShift & kLowBytes}};
}

// The same without interpolation.
__host__ __device__ inline Values Repeat(const Samples& s) {
  return {{s.first, s.last}, {s.first, s.last}};
}

// 3/4 of the near row and 1/4 of the far one, not widened.
__host__ __device__ inline Values Mix(const Values& near, const Values& far, uint32_t rounding) {
  const auto mixed = [rounding](uint32_t a, uint32_t b) {
    return (3 * a + b + rounding) >> 2 & kLowBytes;
  };
  return {{mixed(near.even[0], far.even[0]), mixed(near.even[1], far.even[1])},
          {mixed(near.odd[0], far.odd[0]), mixed(near.odd[1], far.odd[1])}};
}

__host__ __device__ inline Values Spread(uint64_t eight_samples) {
  const auto low = static_cast<uint32_t>(eight_samples);
  const auto high = static_cast<uint32_t>(eight_samples >> 32);
  return {{low & kLowBytes, high & kLowBytes}, {low >> 8 & kLowBytes, high >> 8 & kLowBytes}};
}

__host__ __device__ inline int Clamp(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

// One component's values of two rows.
struct ValuePair {
  Values row[2];
};

// A plane of chroma.
struct Chroma {
  uint64_t plane;
  int stride, width, height, h, v;
  Part part;

  __host__ __device__ uint64_t Row(int y) const {
    return plane + static_cast<int64_t>(Clamp(y, 0, height - 1)) * stride;
  }
  // Wider than 2 samples; narrower ones libjpeg repeats.
  __host__ __device__ bool Interpolates() const { return width > 2; }

  // Pixels x to x + 7 of rows y and y + 1, y odd, where chroma has half of the rows.
  __host__ __device__ ValuePair TallPair(int x, int y) const {
    const uint64_t upper = Row(y >> 1), lower = Row((y >> 1) + 1);
    if (h == 1) {
      const Values a = Spread(Load<uint64_t>(upper + x)), b = Spread(Load<uint64_t>(lower + x));
      return {Mix(a, b, 0x00020002), Mix(b, a, 0x00010001)};
    }
    const Samples a = LoadSamples(upper, x >> 1, width, part);
    const Samples b = LoadSamples(lower, x >> 1, width, part);
    if (Interpolates()) {
      return {Widen<4>(Between(a, b), 0x00080008, 0x00070007),
              Widen<4>(Between(b, a), 0x00080008, 0x00070007)};
    }
    return {Repeat(a), Repeat(b)};
  }

  // Pixels x to x + 7 of row y, where chroma has all rows.
  __host__ __device__ Values OneRow(int x, int y) const {
    if (h == 1) return Spread(Load<uint64_t>(Row(y) + x));
    if (h == 2) {
      const Samples s = LoadSamples(Row(y), x >> 1, width, part);
      if (Interpolates()) return Widen<2>(s, 0x00010001, 0x00020002);
      return Repeat(s);
    }
    const uint32_t two = Load<uint16_t>(Row(y) + (x >> 2));
    const uint32_t first = (two & 255) * 0x00010001, last = (two >> 8) * 0x00010001;
    return {{first, last}, {first, last}};
  }
};

// ITU-R BT.601 in fixed-point numbers with 16 bits behind the point.
inline constexpr int kRedOfCr = 91881, kGreenOfCb = 22554, kGreenOfCr = 46802, kBlueOfCb = 116130;

// `luma` as such a number, half a unit added.
__host__ __device__ inline uint32_t RgbOfYcc(int luma, int cb, int cr) {
  cb -= 128;
  cr -= 128;
  return PackPixel((luma + kRedOfCr * cr) >> 16, (luma - kGreenOfCb * cb - kGreenOfCr * cr) >> 16,
                   (luma + kBlueOfCb * cb) >> 16);
}

__host__ __device__ inline int ValueOf(const Values& values, int i) {
  const uint32_t two = i % 2 == 0 ? values.even[i / 4] : values.odd[i / 4];
  return static_cast<int>(i / 2 % 2 == 0 ? two & 0xFFFF : two >> 16);
}

__host__ __device__ inline int LumaOf(uint64_t eight, int i) {
  const auto four = static_cast<uint32_t>(i < 4 ? eight : eight >> 32);
  return static_cast<int>(four >> (i % 4 * 8) & 255);
}

// Whether `planes` are such as nearly all photographs are: 4:2:0, interpolated, YCbCr.
__host__ __device__ inline bool IsCommon(const JpegPlanes& planes) {
  return planes.components == 3 && planes.h == 2 && planes.v == 2 && planes.is_ycc != 0 &&
         planes.chroma_width > 2;
}

// Component `c`, 1 or 2, of pixels x to x + 7 of rows y and y + 1; see Pixels().
template <bool kCommon>
__host__ __device__ inline ValuePair ChromaOf(const JpegPlanes& planes, int c, int x, int y,
                                              const Part& part) {
  const Chroma chroma = {planes.plane[c],
                         planes.stride[c],
                         planes.chroma_width,
                         planes.chroma_height,
                         kCommon ? 2 : planes.h,
                         kCommon ? 2 : planes.v,
                         part};
  if (chroma.v == 2) return chroma.TallPair(x, y);
  return {chroma.OneRow(x, Clamp(y, part.first_row, part.end_row - 1)),
          chroma.OneRow(x, Clamp(y + 1, part.first_row, part.end_row - 1))};
}

// The same as a fixed-point number with 16 bits behind the point, half a unit added.
__host__ __device__ inline int FixedLumaOf(uint64_t eight, int i) {
  const auto four = static_cast<uint32_t>(i < 4 ? eight : eight >> 32);
  return static_cast<int>(PickBytes(four, 0x8000, 0x7054 | static_cast<uint32_t>(i % 4) << 8));
}

enum class Colours : uint8_t { kGray, kYcc, kRgb };

__host__ __device__ inline Colours ColoursOf(const JpegPlanes& planes) {
  if (planes.components != 3) return Colours::kGray;
  return planes.is_ycc != 0 ? Colours::kYcc : Colours::kRgb;
}

// A loop for each kind, so that a compiler unrolls it and no array is in memory.
__host__ __device__ inline PixelRow Convert(Colours colours, uint64_t luma, const Values& cb,
                                            const Values& cr) {
  PixelRow row;
  switch (colours) {
    case Colours::kGray:
      for (int i = 0; i < kPixels; ++i) {
        row.pixel[i] = static_cast<uint32_t>(LumaOf(luma, i)) * 0x00010101;
      }
      break;
    case Colours::kYcc:
      for (int i = 0; i < kPixels; ++i) {
        row.pixel[i] = RgbOfYcc(FixedLumaOf(luma, i), ValueOf(cb, i), ValueOf(cr, i));
      }
      break;
    case Colours::kRgb:
      for (int i = 0; i < kPixels; ++i) {
        row.pixel[i] = PackPixel(LumaOf(luma, i), ValueOf(cb, i), ValueOf(cr, i));
      }
      break;
  }
  return row;
}

// Pixels x to x + 7 of rows y and y + 1; x is a multiple of 8 and y is odd, from -1 on; at least
// one of them belongs to `part`, and only those of it are meaningful. kCommon: IsCommon(), known
// when compiling.
template <bool kCommon>
__host__ __device__ inline PixelPair Pixels(const JpegPlanes& planes, int x, int y,
                                            const Part& part) {
  const Colours colours = kCommon ? Colours::kYcc : ColoursOf(planes);
  const uint64_t luma = planes.plane[0] + x;
  const int first = part.first_row, last = part.end_row - 1;
  const auto upper = Load<uint64_t>(luma + int64_t{Clamp(y, first, last)} * planes.stride[0]);
  const auto lower = Load<uint64_t>(luma + int64_t{Clamp(y + 1, first, last)} * planes.stride[0]);
  ValuePair cb = {}, cr = {};
  if (colours != Colours::kGray) {
    cb = ChromaOf<kCommon>(planes, 1, x, y, part);
    cr = ChromaOf<kCommon>(planes, 2, x, y, part);
  }
  return {Convert(colours, upper, cb.row[0], cr.row[0]),
          Convert(colours, lower, cb.row[1], cr.row[1])};
}

}  // namespace penstock::jpeg_colour
