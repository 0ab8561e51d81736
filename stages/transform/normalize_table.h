// What Normalize makes of each of the 256 values of a channel: the arithmetic of all its forms.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "penstock/memory/dtype.h"
#include "penstock/stages/transform/normalize.pb.h"

namespace penstock {

struct NormalizeTable {
  static constexpr int kMaxChannels = 4;

  // Checks the options. InvalidArgument names the option, its value and its range.
  static absl::StatusOr<NormalizeTable> Create(const Normalize& options);

  int channels = 1;  // That the options name; 1 serves any number of them.
  DLDataType dtype = kFloat32;
  bool planar = true;  // NCHW.
  // By channel and value, the bits of the result, in the low 16 or all 32.
  std::array<std::array<uint32_t, 256>, kMaxChannels> bits{};
};

}  // namespace penstock
