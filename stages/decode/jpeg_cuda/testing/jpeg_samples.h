// For tests and checks: JPEG files of all kinds made by libjpeg, with pictures that are worked out,
// and what it makes of files.
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
  // Hills with some grain; each value at random; squares; waves of many lengths with grain, as
  // photographs have; the longest of these waves alone; one colour.
  enum class Content : uint8_t { kHills, kNoise, kEdges, kPhoto, kSmooth, kFlat };
  // kRgb and kCmyk are not converted, and marked so.
  enum class Colour : uint8_t { kYcc, kRgb, kGray, kCmyk, kYcck };
  int width = 64, height = 48;
  Colour colour = Colour::kYcc;
  int h = 2, v = 2;          // Sampling of the first component against the others; also of gray.
  int quality = 85;          // 1 to 100.
  int restart_interval = 0;  // MCUs between restart markers; 0: none.
  bool optimised = false;    // Huffman tables made for the file.
  Content content = Content::kHills;
  uint32_t seed = 1;  // Of the content.
  bool progressive = false;
  bool arithmetic = false;
  bool scans = false;  // One a component.
  // 16-bit quantisation where the quality asks for it, which makes the file extended sequential.
  bool wide = false;
  // Without the last four, by which no test tells its samples apart.
  std::string ToString() const;
};
// Ends the program where libjpeg refuses the sample.
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
