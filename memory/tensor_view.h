// TensorView: what a consumer gets to see of a batch. DLPack's fields, without ownership.
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penstock/memory/dtype.h"

namespace penstock {

// A tensor in memory that somebody else owns (a batch, until it is released).
struct TensorView {
  std::byte* data = nullptr;
  DLDataType dtype = kUint8;
  std::vector<int64_t> shape;    // shape[0] is the number of samples.
  std::vector<int64_t> strides;  // In items, as in DLPack; never empty for a tensor with a shape.
  // For ragged tensors: where each sample starts, in items, and the total at the end (shape[0] + 1
  // numbers). Empty for dense ones.
  std::vector<int64_t> offsets;
  DLDevice device = {kDLCPU, 0};

  int64_t items() const {
    int64_t n = 1;
    for (int64_t extent : shape) n *= extent;
    return n;
  }
  int64_t bytes() const { return items() * ItemBytes(dtype); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// Strides of a dense row-major tensor, in items.
inline std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace penstock
