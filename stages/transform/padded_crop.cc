#include "penstock/stages/transform/padded_crop.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Where item `i` of an endlessly padded axis lies in [0, size); -1: nowhere.
int32_t Unpadded(int32_t i, int32_t size, PadMode mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return std::clamp(i, 0, size - 1);
    case PadMode::kReflect: {
      if (size == 1) return 0;
      const int32_t period = 2 * (size - 1), phase = ((i % period) + period) % period;
      return std::min(phase, period - phase);
    }
    case PadMode::kSymmetric: {
      const int32_t period = 2 * size, phase = ((i % period) + period) % period;
      return std::min(phase, period - 1 - phase);
    }
  }
  return -1;
}

// The smallest range that holds the sources of `count` items from `begin` on.
struct Range {
  int32_t begin = 0, count = 0;
};
Range Sources(const CropAxis& axis, int32_t begin, int32_t count) {
  int32_t first = axis.size, last = -1;
  for (int32_t i = begin; i < begin + count; ++i) {
    const int32_t source = axis.Source(i);
    if (source < 0) continue;
    first = std::min(first, source);
    last = std::max(last, source);
  }
  return last < 0 ? Range{} : Range{first, last - first + 1};
}

// The columns [begin, end) of a region that lie within the image as they are.
Range Inside(const CropAxis& x, const Region& part) {
  const int32_t end = part.x + part.width;
  const int32_t first = std::clamp(-x.shift(), part.x, end);
  return {first, std::clamp(x.size - x.shift(), first, end) - first};
}

void FillPixels(absl::Span<const uint8_t> fill, int32_t pixels, uint8_t* to) {
  for (int32_t i = 0; i < pixels; ++i, to += fill.size()) {
    std::memcpy(to, fill.data(), fill.size());
  }
}

}  // namespace

int32_t CropAxis::Source(int32_t i) const {
  const int32_t once = Unpadded(i + offset - more, before + size + after, mode);
  if (mode == PadMode::kConstant && once < 0) return -1;
  return Unpadded(once - before, size, mode);
}

Region CropInput(const CropAxis& y, const CropAxis& x, const Region& out) {
  const Range rows = Sources(y, out.y, out.height), columns = Sources(x, out.x, out.width);
  if (rows.count == 0 || columns.count == 0) return {};
  return {rows.begin, columns.begin, rows.count, columns.count};
}

void Crop(const CropAxis& y, const CropAxis& x, absl::Span<const uint8_t> fill, const FieldView& in,
          const FieldView& out) {
  const Region& part = out.region;
  const Range inside = Inside(x, part);
  const int channels = out.channels;
  const auto pixel_by_pixel = [&](int32_t row, int32_t begin, int32_t end, uint8_t* to) {
    for (int32_t i = begin; i < end; ++i, to += channels) {
      const int32_t column = x.Source(i);
      std::memcpy(to, column < 0 ? fill.data() : in.at(row, column), channels);
    }
  };
  for (int32_t i = part.y; i < part.y + part.height; ++i) {
    const int32_t row = y.Source(i);
    uint8_t* to = out.at(i, part.x);
    if (row < 0) {
      FillPixels(fill, part.width, to);
      continue;
    }
    const int32_t end = inside.begin + inside.count;
    pixel_by_pixel(row, part.x, inside.begin, to);
    if (inside.count > 0) {
      std::memcpy(to + int64_t{inside.begin - part.x} * channels,
                  in.at(row, inside.begin + x.shift()), int64_t{inside.count} * channels);
    }
    pixel_by_pixel(row, end, part.x + part.width, to + int64_t{end - part.x} * channels);
  }
}

}  // namespace penstock
