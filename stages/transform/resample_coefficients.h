// The arithmetic of a resize, one output item of one axis at a time: which input items it reads,
// and with what weights. Equal to Pillow's (Image.resize of 8-bit images) to the last bit.
//
// All functions are constexpr and use + - * / and comparisons of doubles alone, so that one text
// serves host and device (nvcc --expt-relaxed-constexpr). No operation may be contracted:
// -ffp-contract=off,
// --fmad=false.
#pragma once

#include <cstdint>

namespace penstock {

enum class ResampleFilter : uint8_t { kBilinear, kBicubic };

// How far a filter reaches from its centre, in items of the axis that it is not stretched on.
constexpr double FilterSupport(ResampleFilter filter) {
  return filter == ResampleFilter::kBilinear ? 1.0 : 2.0;
}

// A triangle, or Keys' cubic with a = -0.5 (R. Keys, "Cubic Convolution Interpolation for Digital
// Image Processing", 1981).
constexpr double FilterWeight(ResampleFilter filter, double x) {
  if (x < 0.0) x = -x;
  if (filter == ResampleFilter::kBilinear) return x < 1.0 ? 1.0 - x : 0.0;
  constexpr double a = -0.5;
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// Weights are fixed-point numbers with this many bits behind the point: 32 less the 8 of an item,
// less 2 for a sum that overshoots.
inline constexpr int kWeightBits = 32 - 8 - 2;

// A half-open range of input items.
struct TapRange {
  int32_t begin = 0, end = 0;
  constexpr int32_t count() const { return end - begin; }
};

// One axis of a resize. With `antialias` the filter is stretched over all the input items that an
// output item covers when the axis shrinks; without, it reads 2 (bilinear) or 4 (bicubic) whatever
// the scale.
class ResampleAxis {
 public:
  constexpr ResampleAxis(ResampleFilter filter, bool antialias, int32_t in_size, int32_t out_size)
      : filter_(filter),
        in_size_(in_size),
        scale_(static_cast<double>(in_size) / out_size),
        stretch_(antialias && scale_ > 1.0 ? scale_ : 1.0),
        support_(FilterSupport(filter) * stretch_),
        inverse_stretch_(1.0 / stretch_) {}

  // What output item `index` reads. Neither end falls from one index to the next.
  constexpr TapRange Taps(int32_t index) const {
    const double center = Center(index);
    const auto begin = static_cast<int32_t>(center - support_ + 0.5);
    const auto end = static_cast<int32_t>(center + support_ + 0.5);
    return {begin < 0 ? 0 : begin, end > in_size_ ? in_size_ : end};
  }

  // Calls put(i, weight) for each of them, i from 0; the weights sum up to about 1 << kWeightBits.
  template <class Put>
  constexpr void ForEachWeight(int32_t index, TapRange taps, Put put) const {
    const double center = Center(index);
    double sum = 0.0;
    for (int32_t i = 0; i < taps.count(); ++i) sum += Weight(i + taps.begin, center);
    for (int32_t i = 0; i < taps.count(); ++i) {
      const double weight = Weight(i + taps.begin, center);
      put(i, Rounded(sum != 0.0 ? weight / sum : weight));
    }
  }

 private:
  constexpr double Center(int32_t index) const { return (index + 0.5) * scale_; }
  constexpr double Weight(int32_t item, double center) const {
    return FilterWeight(filter_, (item - center + 0.5) * inverse_stretch_);
  }
  static constexpr int32_t Rounded(double weight) {
    const double scaled = weight * (1 << kWeightBits);
    return static_cast<int32_t>(weight < 0.0 ? -0.5 + scaled : 0.5 + scaled);
  }

  ResampleFilter filter_;
  int32_t in_size_;
  double scale_;    // Input items an output item.
  double stretch_;  // Of the filter.
  double support_;
  double inverse_stretch_;
};

}  // namespace penstock
