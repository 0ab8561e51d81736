// For tests: JPEG files made by libjpeg, and what it makes of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"
#include "penstock/stages/field.h"

namespace penstock {

struct JpegSample {
  enum class Content : uint8_t { kSmooth, kNoise, kEdges };
  int width = 64, height = 48;
  int components = 3;
  int h = 2, v = 2;  // Sampling of luma against chroma; of gray, its factors.
  int quality = 85;
  int restart_interval = 0;  // MCUs.
  bool optimised = false;
  bool is_rgb = false;  // Not converted to YCC, and marked so.
  Content content = Content::kSmooth;
  uint32_t seed = 1;
  std::string ToString() const;
};
std::vector<std::byte> MakeJpeg(const JpegSample& sample);

// All samples of a file as libjpeg has them before colours, by component.
struct RawPlane {
  int stride = 0, rows = 0;
  std::vector<uint8_t> samples;
};
// Empty if libjpeg refuses the file.
std::vector<RawPlane> ReadRawPlanes(absl::Span<const std::byte> file);

struct JpegHeader {
  int width = 0, height = 0, components = 0;
  int h = 0, v = 0;
  bool is_ycc = false;
  uint32_t restart_interval = 0;
};
// Of a baseline file as libjpeg reads it. False if it refuses to.
bool ReadJpegHeader(absl::Span<const std::byte> file, JpegHeader& header);

// Where the first sample that `region` draws on differs, or "". `memory` is a copy of what lies at
// `memory_address`, with the planes in it.
std::string ComparePlanes(const JpegPlanes& planes, const Region& region,
                          const std::vector<RawPlane>& expected,
                          const std::vector<std::byte>& memory, uint64_t memory_address);

}  // namespace penstock
