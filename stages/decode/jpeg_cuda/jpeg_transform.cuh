// From a group's coefficients to samples in the planes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_group.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_idct.cuh"

namespace penstock::jpeg_device {

__device__ inline bool IsWithin(const BlockRange& range, int x, int y) {
  return x >= range.first_x && x <= range.last_x && y >= range.first_y && y <= range.last_y;
}

// Places of the group's blocks, ordered for the writing: luma by rows of blocks, then each chroma.
__device__ inline void FillPlaces(const Group& group, DecodeShared& shared) {
  const JpegImage& image = group.image;
  const JpegGeometry& g = image.geometry;
  const int first_y = static_cast<int>(group.first_mcu) / g.mcus_across;
  const int first_x = static_cast<int>(group.first_mcu) - first_y * g.mcus_across;
  const int row_blocks = group.mcus * image.h, luma = group.mcus * group.luma_blocks;
  const int log2_h = jpeg_internal::Log2(image.h);
  for (int r = threadIdx.x; r < group.blocks; r += kDecodeThreads) {
    int component = 0, mcu, dx = 0, dy = 0, block;
    if (r < luma) {
      dy = r >= row_blocks ? 1 : 0;
      const int rest = r - dy * row_blocks;
      mcu = rest >> log2_h;
      dx = rest & (image.h - 1);
      block = dy * image.h + dx;
    } else {
      mcu = r - luma;
      component = mcu < group.mcus ? 1 : 2;
      if (component == 2) mcu -= group.mcus;
      block = group.luma_blocks - 1 + component;
    }
    const int mcu_y = first_y + (first_x + mcu) / g.mcus_across;
    const int mcu_x = (first_x + mcu) % g.mcus_across;
    const bool is_luma = component == 0;
    const int h = is_luma ? image.h : 1, v = is_luma ? image.v : 1;
    const int x = mcu_x * h + dx, y = mcu_y * v + dy;
    const int stride = is_luma ? g.luma_stride : g.chroma_stride;
    Place place{kUnwanted, static_cast<uint32_t>((mcu * group.mcu_blocks + block) * kBlockItems *
                                                 static_cast<int>(sizeof(int16_t)))};
    if (IsWithin(is_luma ? g.luma : g.chroma, x, y)) {
      // A row of blocks is 8 rows of samples, of `stride` bytes; a block 8 bytes of each.
      place.samples = image.plane_offset[component] +
                      static_cast<uint32_t>(y - g.first_row * v) * stride +
                      static_cast<uint32_t>(x - g.first_column * h);
    }
    shared.places[r] = place;
  }
}

// The samples of one component: eight lanes a block, a column each and then a row each.
__device__ inline void TransformComponent(const JpegBatch& batch, const Group& group, int component,
                                          int first_place, int count, uint32_t restart_bytes,
                                          DecodeShared& shared) {
  const JpegImage& image = group.image;
  const int lane = static_cast<int>(threadIdx.x) % kBlockLanes;
  const int stride = component == 0 ? image.geometry.luma_stride : image.geometry.chroma_stride;
  const uint16_t* table = batch.quantisation + size_t{1} * group.image_index * kQuantisationItems +
                          component * 64 + lane * 8;
  int scale[8];
  Unpack(*reinterpret_cast<const uint4*>(table), scale);
#pragma unroll
  for (int& s : scale) s = min(s & 0xFFFF, kLargestScale);
  const int before = shared.before[component];
  const int rounded = (count + 3) / 4 * 4;  // Whole warps.
#pragma unroll 1
  for (int r = static_cast<int>(threadIdx.x) / kBlockLanes; r < rounded;
       r += kDecodeThreads / kBlockLanes) {
    const Place place = r < count ? shared.places[first_place + r] : Place{kUnwanted, 0};
    auto* block = reinterpret_cast<int16_t*>(reinterpret_cast<std::byte*>(shared.blocks) +
                                             place.coefficients);
    // What is too large is not transformed: the image has a status anyhow.
    bool is_active = place.samples != kUnwanted;
    const auto stop_if = [&](bool is_too_large) {
      if (!is_too_large) return;
      is_active = false;
      const uint32_t in_group = place.coefficients / (kBlockItems * sizeof(int16_t));
      ReportDamage(batch, group.image_index, group.first_block + in_group);
    };
    int in[8], out[8];
    if (is_active) {
      Unpack(*reinterpret_cast<const uint4*>(block + lane * 8), in);
      if (lane == 0 && place.coefficients < restart_bytes) {
        in[0] = static_cast<int16_t>(in[0] + before);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) in[i] *= scale[i];
      stop_if(AbsoluteSum(in) > kFirstPassLimit);
    }
    if (is_active) Idct<kFirstPassShift>(in, out);
    __syncwarp();
    if (is_active) {
#pragma unroll
      for (int i = 0; i < 8; ++i) block[i * 8 + lane] = static_cast<int16_t>(out[i]);
    }
    __syncwarp();
    if (!is_active) continue;
    Unpack(*reinterpret_cast<const uint4*>(block + lane * 8), in);
    stop_if(AbsoluteSum(in) > kSecondPassLimit);
    if (!is_active) continue;
    Idct<kSecondPassShift>(in, out);
    auto* samples = reinterpret_cast<uint2*>(image.planes + uint64_t{place.samples} * 8 +
                                             static_cast<uint64_t>(lane) * stride);
    *samples = make_uint2(Saturate(out[0], out[1], out[2], out[3]),
                          Saturate(out[4], out[5], out[6], out[7]));
  }
}

__device__ inline void Transform(const JpegBatch& batch, const Group& group, int restart,
                                 DecodeShared& shared) {
  const uint32_t restart_bytes =
      static_cast<uint32_t>(min(restart, group.mcus) * group.mcu_blocks * kBlockItems) *
      sizeof(int16_t);
  int first = 0;
  for (int component = 0; component < group.image.components; ++component) {
    const int count = component == 0 ? group.mcus * group.luma_blocks : group.mcus;
    TransformComponent(batch, group, component, first, count, restart_bytes, shared);
    first += count;
  }
}

}  // namespace penstock::jpeg_device
