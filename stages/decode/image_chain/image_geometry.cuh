// What crops, resizes and flips come to for one image, and how its axes are then filtered: one list
// of input items and weights for each output column and row. Cropping, mirroring, padding with
// black and not resizing at all are such lists too, so that the two passes need no special case.
// Host code may include this too (tests do).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "penstock/stages/field.h"
#include "penstock/stages/transform/geometry_params.h"
#include "penstock/stages/transform/resample_coefficients.h"

namespace penstock {

// Params of the stages of a sequence, by row; null where it has no such stage.
struct GeometryTables {
  const std::byte* random_resized_crop = nullptr;
  const std::byte* resize = nullptr;
  const std::byte* center_crop = nullptr;
  const std::byte* random_crop = nullptr;
  const std::byte* random_horizontal_flip = nullptr;
};

// The part `box` of an image becomes one of `size`. Of that the output shows what begins at y, x
// (black beyond it), mirrored or not.
struct ImageGeometry {
  Region box;
  ImageSize size;
  int32_t y = 0, x = 0;
  bool mirrored = false;
};

// Params of a row; tables have a stride that is a multiple of 16.
template <class Params>
__host__ __device__ const Params& ParamsOf(const std::byte* table, int32_t row) {
  constexpr size_t kStride = (sizeof(Params) + 15) / 16 * 16;
  return *reinterpret_cast<const Params*>(table + static_cast<size_t>(row) * kStride);
}

__host__ __device__ inline ImageGeometry GeometryOf(const GeometryTables& tables, int32_t row,
                                                    ImageSize image, ImageSize out) {
  ImageGeometry geometry;
  geometry.box = {0, 0, image.height, image.width};
  geometry.size = image;
  if (tables.random_resized_crop != nullptr) {
    geometry.box = ParamsOf<RandomResizedCropParams>(tables.random_resized_crop, row).box;
    geometry.size = out;
  }
  if (tables.resize != nullptr) geometry.size = ParamsOf<ResizeParams>(tables.resize, row).out;
  if (tables.center_crop != nullptr) {
    const auto& crop = ParamsOf<CenterCropParams>(tables.center_crop, row);
    geometry.y = crop.y;
    geometry.x = crop.x;
  }
  if (tables.random_crop != nullptr) {
    const auto& crop = ParamsOf<RandomCropParams>(tables.random_crop, row);
    geometry.y = crop.y;
    geometry.x = crop.x;
  }
  if (tables.random_horizontal_flip != nullptr) {
    const auto& flip = ParamsOf<RandomHorizontalFlipParams>(tables.random_horizontal_flip, row);
    geometry.mirrored = flip.flip != 0;
  }
  return geometry;
}

// How a resize finds its values.
struct ResampleMethod {
  bool nearest = false;  // Else by `filter`.
  ResampleFilter filter = ResampleFilter::kBilinear;
  bool antialias = true;
};

inline constexpr int32_t kWholeWeight = 1 << kWeightBits;

// Input items that an output item is a weighted sum of.
struct Taps {
  int32_t begin = 0, count = 0;
  int32_t at = 0;  // Of the first weight.
};

// Taps of all output items of an axis. Weight t of item i is weights[taps[i].at + t * stride]:
// neighbouring threads, which have neighbouring items, read neighbouring weights.
struct AxisTaps {
  int32_t items = 0;
  int32_t stride = 0;  // Items that are not black.
  Taps* taps = nullptr;
  int32_t* weights = nullptr;
};

// One axis of an image: `in` items, which begin with item `origin` of what the taps refer to, are
// resized to `resized`; the output's first one is number `offset` of these.
struct ImageAxis {
  int32_t origin = 0, in = 0, resized = 0, offset = 0;
  bool mirrored = false;

  // The resized item that output item i of `items` shows; outside of [0, resized): black.
  __host__ __device__ int32_t Source(int32_t i, int32_t items) const {
    return (mirrored ? items - 1 - i : i) + offset;
  }
  __host__ __device__ int32_t FirstSource() const { return offset > 0 ? offset : 0; }
  // How many of `items` are not black.
  __host__ __device__ int32_t Visible(int32_t items) const {
    return (offset + items < resized ? offset + items : resized) - FirstSource();
  }

  // Writes taps and weights of item i; but leaves what Nearest() does.
  __host__ __device__ void Fill(const ResampleMethod& method, int32_t i,
                                const AxisTaps& out) const {
    const int32_t source = Source(i, out.items);
    if (source < 0 || source >= resized) {
      // In order, so that the first and the last item enclose all that is read.
      out.taps[i] = {origin + (source < 0 ? 0 : in), 0, 0};
    } else if (in == resized) {
      PutOne(out, i, source, source);
    } else if (!method.nearest) {
      const ResampleAxis axis(method.filter, method.antialias, in, resized);
      const TapRange range = axis.Taps(source);
      const int32_t at = source - FirstSource();
      out.taps[i] = {origin + range.begin, range.count(), at};
      axis.ForEachWeight(source, range, [&](int32_t tap, int32_t weight) {
        out.weights[at + int64_t{tap} * out.stride] = weight;
      });
    }
  }

  // Fill() of all items for a resize by nearest neighbours. As in Pillow positions are added up one
  // by one, which makes this the work of one thread.
  __host__ __device__ void Nearest(const AxisTaps& out) const {
    if (in == resized) return;
    const double step = static_cast<double>(in) / resized;
    double position = step * 0.5;
    for (int32_t source = 0; source < resized && source < offset + out.items; ++source) {
      const int32_t item = static_cast<int32_t>(position);
      position += step;
      if (source < offset) continue;
      const int32_t i = mirrored ? out.items - 1 - (source - offset) : source - offset;
      PutOne(out, i, source, item < in ? item : in - 1);
    }
  }

 private:
  __host__ __device__ void PutOne(const AxisTaps& out, int32_t i, int32_t source,
                                  int32_t item) const {
    const int32_t at = source - FirstSource();
    out.taps[i] = {origin + item, 1, at};
    out.weights[at] = kWholeWeight;
  }
};

// The most weights of an axis of which `in` items are read for `out` items. Where a filter is
// stretched, an item that is not black has up to 2 x reach x stretch + 1 taps, and as many as these
// are, times the stretch, is at most in + 1.
__host__ __device__ inline int64_t MostWeights(int64_t in, int64_t out, int reach) {
  return 2 * reach * (out > in + 1 ? out : in + 1) + 3 * out;
}

// The 8-bit value of a weighted sum that began with half a weight.
inline constexpr int32_t kHalfValue = 1 << (kWeightBits - 1);
__host__ __device__ inline uint32_t ValueOfSum(int32_t sum) {
  const int32_t value = sum >> kWeightBits;
  return static_cast<uint32_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

}  // namespace penstock
