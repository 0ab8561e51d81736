#include "penstock/stages/transform/resample.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

ResampleFilter FilterOf(Interpolation interpolation) {
  return interpolation == BICUBIC ? ResampleFilter::kBicubic : ResampleFilter::kBilinear;
}

// The input items [first, last] of one axis.
struct AxisInput {
  int32_t first, last;
};

// The one input item that each output item is, from the first on. As in Pillow positions are added
// up one by one: where two input items are equally near, that decides between them.
class NearestWalk {
 public:
  NearestWalk(int32_t in_size, int32_t out_size)
      : last_(in_size - 1),
        step_(static_cast<double>(in_size) / out_size),
        position_(step_ * 0.5) {}
  int32_t Next() {
    const int32_t item = std::min(static_cast<int32_t>(position_), last_);
    position_ += step_;
    return item;
  }

 private:
  const int32_t last_;
  const double step_;
  double position_;
};

void NearestItems(int32_t in_size, int32_t out_size, OutputRange range,
                  std::vector<int32_t>& items) {
  NearestWalk walk(in_size, out_size);
  for (int32_t i = 0; i < range.begin; ++i) walk.Next();
  items.resize(range.count);
  for (int32_t& item : items) item = walk.Next();
}

AxisInput InputOf(const Resampling& resampling, int32_t in_size, int32_t out_size,
                  OutputRange range) {
  const int32_t last = range.begin + range.count - 1;
  if (in_size == out_size) return {range.begin, last};
  if (resampling.interpolation == NEAREST) {
    NearestWalk walk(in_size, out_size);
    AxisInput input{};
    for (int32_t i = 0; i <= range.begin; ++i) input.first = input.last = walk.Next();
    for (int32_t i = range.begin; i < last; ++i) input.last = walk.Next();
    return input;
  }
  const ResampleAxis axis(FilterOf(resampling.interpolation), resampling.antialias, in_size,
                          out_size);
  return {axis.Taps(range.begin).begin, axis.Taps(last).end - 1};
}

AxisWeights MakeWeights(const ResampleAxis& axis, int32_t out_size) {
  AxisWeights result;
  result.taps.resize(out_size);
  result.at.resize(out_size);
  for (int32_t i = 0; i < out_size; ++i) {
    const TapRange taps = axis.Taps(i);
    result.taps[i] = taps;
    result.at[i] = static_cast<int32_t>(result.pairs.size());
    result.pairs.resize(result.pairs.size() + (taps.count() + 1) / 2);
    WeightPair* pairs = result.pairs.data() + result.at[i];
    axis.ForEachWeight(
        i, taps, [pairs](int32_t tap, int32_t weight) { pairs[tap / 2].Set(tap % 2, weight); });
  }
  return result;
}

template <int kChannels>
void PickPixels(const uint8_t* row, const std::vector<int32_t>& columns, uint8_t* to) {
  for (int32_t column : columns) {
    std::memcpy(to, row + int64_t{column} * kChannels, kChannels);
    to += kChannels;
  }
}

}  // namespace

Region ResampleInput(const Resampling& resampling, const Region& out) {
  const Region& box = resampling.box;
  if (out.empty()) return {box.y, box.x, 0, 0};
  const ImageSize& size = resampling.size;
  const AxisInput y = InputOf(resampling, box.height, size.height, {out.y, out.height});
  const AxisInput x = InputOf(resampling, box.width, size.width, {out.x, out.width});
  return {box.y + y.first, box.x + x.first, y.last - y.first + 1, x.last - x.first + 1};
}

void Resampler::Run(const Resampling& resampling, const FieldView& in, const FieldView& out,
                    SampleContext& context) {
  if (out.region.empty()) return;
  if (resampling.interpolation == NEAREST) return Nearest(resampling, in, out);
  Filter(resampling, in, out, context);
}

// Horizontally first, for the rows that the vertical pass needs; a pass that changes no size is
// left out. Between the passes items are rounded to 8 bits. All of this is part of the result.
void Resampler::Filter(const Resampling& resampling, const FieldView& in, const FieldView& out,
                       SampleContext& context) {
  const Region& box = resampling.box;
  const Region needed = ResampleInput(resampling, out.region);
  const int channels = in.channels;
  const int64_t row_bytes = int64_t{out.region.width} * channels;
  PixelRows pixels = {.data = in.at(needed.y, needed.x),
                      .pitch = int64_t{in.region.width} * channels,
                      .first_row = needed.y - box.y,
                      .rows = needed.height,
                      .first_column = needed.x - box.x,
                      .columns = needed.width};
  const bool vertical = box.height != resampling.size.height;
  uint8_t* const result = out.data<uint8_t>();
  if (box.width != resampling.size.width) {
    uint8_t* const between =
        vertical ? reinterpret_cast<uint8_t*>(context.Allocate(row_bytes * needed.height)) : result;
    ResampleHorizontally(pixels, channels, Weights(resampling, box.width, resampling.size.width),
                         {out.region.x, out.region.width}, between, row_bytes, strip_);
    pixels.data = between;
    pixels.pitch = row_bytes;
  }
  if (vertical) {
    ResampleVertically(pixels, row_bytes, Weights(resampling, box.height, resampling.size.height),
                       {out.region.y, out.region.height}, result);
  } else if (pixels.data != result) {
    for (int32_t y = 0; y < pixels.rows; ++y) {
      std::memcpy(result + y * row_bytes, pixels.data + y * pixels.pitch, row_bytes);
    }
  }
}

void Resampler::Nearest(const Resampling& resampling, const FieldView& in, const FieldView& out) {
  const Region &box = resampling.box, &part = out.region;
  NearestItems(box.width, resampling.size.width, {part.x, part.width}, columns_);
  NearestItems(box.height, resampling.size.height, {part.y, part.height}, rows_);
  const auto pick = in.channels == 1   ? PickPixels<1>
                    : in.channels == 2 ? PickPixels<2>
                    : in.channels == 3 ? PickPixels<3>
                                       : PickPixels<4>;
  uint8_t* to = out.data<uint8_t>();
  for (int32_t row : rows_) {
    pick(in.at(box.y + row, in.region.x) + (box.x - in.region.x) * in.channels, columns_, to);
    to += int64_t{part.width} * in.channels;
  }
}

const AxisWeights& Resampler::Weights(const Resampling& resampling, int32_t in_size,
                                      int32_t out_size) {
  const ResampleFilter filter = FilterOf(resampling.interpolation);
  CachedAxis* oldest = cache_.data();
  for (CachedAxis& entry : cache_) {
    if (entry.in_size == in_size && entry.out_size == out_size && entry.filter == filter &&
        entry.antialias == resampling.antialias) {
      entry.used = ++clock_;
      return entry.weights;
    }
    if (entry.used < oldest->used) oldest = &entry;
  }
  const ResampleAxis axis(filter, resampling.antialias, in_size, out_size);
  *oldest = {filter,   resampling.antialias,       in_size, out_size,
             ++clock_, MakeWeights(axis, out_size)};
  return oldest->weights;
}

}  // namespace penstock
