// What travels per sample.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "penstock/stages/field.h"

namespace penstock {

struct Sample {
  int64_t id = 0;
  std::string tag;                           // What a pushed sample was given; else empty.
  std::array<ImageSize, kMaxFields> size{};  // Of image fields; of encoded ones after Probe.
  std::array<FieldView, kMaxFields> fields{};
};

}  // namespace penstock
