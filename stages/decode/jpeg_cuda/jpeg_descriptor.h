// What the decoder needs to know of a JPEG file's header. Needs no CUDA.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace penstock {

// Written once from the header; tables are not copied but pointed at, in bytes from the file's
// first. Trivially copyable: it goes up with the batch.
struct alignas(16) JpegDescriptor {
  // A hash of the Huffman tables below: equal tables of a batch are built once.
  uint64_t tables_hash = 0;
  int32_t width = 0, height = 0;  // Pixels, at least 1.
  // The scan's data: behind the SOS header, up to a final EOI.
  uint32_t scan = 0, scan_bytes = 0;
  uint32_t restart_interval = 0;  // MCUs; 0: none.
  // The 64 values of each component's quantisation table, in zigzag order.
  uint32_t quantisation[3] = {};
  // The 16 counts of each Huffman table, its values behind them: DC and AC of the first pair of
  // tables that the scan uses, DC and AC of the second. Equal pairs are one, and then the second is
  // the first again.
  uint32_t huffman[4] = {};
  uint16_t pair_mask = 0;   // Bit b: the second pair is for block b of the MCU.
  uint8_t period = 0;       // Smallest period of the pair over the blocks of an MCU.
  uint8_t mcu_blocks = 0;   // 1 to 6.
  uint8_t components = 0;   // 1 or 3.
  uint8_t h = 1, v = 1;     // Sampling of luma against chroma: 1x1, 2x1, 2x2, 1x2 or 4x1.
  uint8_t wide_tables = 0;  // Bit c: the component's quantisation values have 16 bits.
  uint8_t is_ycc = 0;       // Else the components are RGB (Adobe's marker, or ids R, G, B).
  // Rows of MCUs that libjpeg takes together, and damage with them: the vertical sampling factor of
  // a gray image, where it means nothing else; else 1.
  uint8_t row_group = 1;
  uint8_t unused[2] = {};
};
static_assert(sizeof(JpegDescriptor) == 80);

// False for what the decoder does not take, which is a function of the bytes alone: no JPEG, a bad
// or incomplete header, progressive, arithmetic, lossless, 12 bits, 2 or 4 components, other
// samplings, several scans, components in another order, more than two pairs of tables, 2^31 bytes
// or more.
bool DescribeJpeg(absl::Span<const std::byte> file, JpegDescriptor& descriptor);

}  // namespace penstock
