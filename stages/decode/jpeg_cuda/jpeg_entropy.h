// Huffman decoding of a subsequence: tables, states, and the loop that follows the symbols. Plain
// functions for both sides, so that they are tested without a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_geometry.h"

namespace penstock {

// Look-up tables are indexed by the next bits of the data. One that synchronises has small entries
// for more bits; one that decodes keeps what is needed for the values.
inline constexpr int kSyncIndexBits = 10;
inline constexpr int kDecodeIndexBits = 9;
inline constexpr int kSyncIndices = 1 << kSyncIndexBits;
inline constexpr int kDecodeIndices = 1 << kDecodeIndexBits;
// Longer codes of AC tables, if they are among the highest of 16 bits, are found in a second table.
inline constexpr int kSyncLongCodes = 512;
inline constexpr int kDecodeLongCodes = 1024;

// A half of an entry describes a symbol: bits 0 to 4 the bits of its code and value, 5 to 8 the
// value's bits alone, 9 to 15 how far it moves in the block (64: to its end). The low half is for
// the first symbol, the high half for the first two together, or the first again. 0: a longer code.
// Entries to synchronise with have no value bits.
inline constexpr uint32_t kSyncEntryMask = 0xFE1FFE1F;
inline constexpr uint32_t kEndOfBlock = 64;

// All look-up tables of an image, by kind of table: DC and AC of the first pair, of the second.
struct JpegTables {
  uint32_t sync[4][kSyncIndices];
  uint16_t sync_long[2][kSyncLongCodes];
  uint16_t decode_long[2][kDecodeLongCodes];
  uint32_t decode[4][kDecodeIndices];
};
inline constexpr uint32_t kSyncTableWords = 4 * kSyncIndices + kSyncLongCodes;
inline constexpr uint32_t kDecodeTableWords = kDecodeLongCodes + 4 * kDecodeIndices;
static_assert(sizeof(JpegTables) == 4 * (kSyncTableWords + kDecodeTableWords));

// A Huffman table as it stands in the file.
struct HuffmanTable {
  uint8_t counts[16];
  uint8_t values[256];
};

// The same for codes of any length: by length, the first code, the end of the codes, both left
// aligned in 16 bits, and the first value.
struct CanonicalTable {
  uint32_t limit[17], first[17], value[17];
  uint8_t values[256];
};

__host__ __device__ inline uint32_t HalfEntry(uint32_t bits, uint32_t size, uint32_t advance) {
  return bits | size << 5 | advance << 9;
}

// What no code stands for: the way goes on one bit further. No symbol that is looked up the slow
// way has this entry, as its code alone is longer.
inline constexpr uint32_t kInvalidEntry = 1 | 1 << 9;

struct Symbol {
  uint32_t bits = 0;     // Of the code; 0: there is none.
  uint32_t size = 0;     // Bits of the value.
  uint32_t advance = 0;  // In the block.
};

__host__ __device__ inline Symbol MakeSymbol(bool is_ac, uint32_t bits, uint32_t value) {
  const uint32_t size = value & 15, run = value >> 4 & 15;
  uint32_t advance = 1;
  if (is_ac) advance = size != 0 ? run + 1 : run == 15 ? 16 : kEndOfBlock;
  return {bits, size, advance};
}

// The symbol whose code has at most `max_bits` bits and begins the 16 bits `window`.
__host__ __device__ inline Symbol FindSymbol(const HuffmanTable& table, bool is_ac, uint32_t window,
                                             int max_bits) {
  uint32_t code = 0, value = 0;
  for (int bits = 1; bits <= max_bits; ++bits) {
    const uint32_t count = table.counts[bits - 1], got = window >> (16 - bits);
    if (got < code + count) {
      if (got < code) return {};
      return MakeSymbol(is_ac, bits, table.values[(value + got - code) & 255]);
    }
    code = (code + count) << 1;
    value += count;
  }
  return {};
}

// The entry at `index` of a table with `index_bits`; `ac` is the table of a symbol that follows.
__host__ __device__ inline uint32_t TableEntry(const HuffmanTable& table, bool is_ac,
                                               const HuffmanTable& ac, uint32_t index,
                                               int index_bits) {
  const uint32_t window = index << (16 - index_bits);
  const Symbol one = FindSymbol(table, is_ac, window, index_bits);
  if (one.bits == 0) return 0;
  const uint32_t bits = one.bits + one.size;
  const uint32_t first = HalfEntry(bits, one.size, one.advance);
  if (one.advance >= kEndOfBlock || static_cast<int>(bits) >= index_bits) return first * 0x10001;
  const Symbol two =
      FindSymbol(ac, true, window << bits & 0xFFFF, index_bits - static_cast<int>(bits));
  if (two.bits == 0) return first * 0x10001;
  const uint32_t advance = two.advance == kEndOfBlock ? kEndOfBlock : one.advance + two.advance;
  return first | HalfEntry(bits + two.bits + two.size, two.size, advance) << 16;
}

// The entry of a second table for the 16 bits `code`.
__host__ __device__ inline uint16_t LongEntry(const HuffmanTable& ac, uint32_t code) {
  const Symbol symbol = FindSymbol(ac, true, code, 16);
  if (symbol.bits == 0) return 0;
  return static_cast<uint16_t>(HalfEntry(symbol.bits + symbol.size, symbol.size, symbol.advance));
}

__host__ __device__ inline void MakeCanonical(const HuffmanTable& table, CanonicalTable& out) {
  uint32_t code = 0, value = 0;
  for (int bits = 1; bits <= 16; ++bits) {
    out.first[bits] = code << (16 - bits);
    out.value[bits] = value;
    code += table.counts[bits - 1];
    value += table.counts[bits - 1];
    out.limit[bits] = code << (16 - bits);
    code <<= 1;
  }
}

// The entry for any code that begins the 32 bits `window` and is longer than a look-up table's
// index, or kInvalidEntry.
__host__ __device__ inline uint32_t CanonicalEntry(const CanonicalTable& table, bool is_ac,
                                                   uint32_t window) {
  const uint32_t code = window >> 16;
  for (int bits = kDecodeIndexBits + 1; bits <= 16; ++bits) {
    if (code >= table.limit[bits]) continue;
    if (code < table.first[bits]) break;
    const uint32_t value = table.value[bits] + ((code - table.first[bits]) >> (16 - bits));
    const Symbol symbol = MakeSymbol(is_ac, bits, table.values[value & 255]);
    return HalfEntry(symbol.bits + symbol.size, symbol.size, symbol.advance) * 0x10001;
  }
  return kInvalidEntry * 0x10001;
}

// Where a code is longer than the index of look-up table `kind`. `long_codes` are the second tables
// of both pairs.
template <int kLongCodes>
__host__ __device__ inline uint32_t LookUpLong(const uint16_t* long_codes,
                                               const CanonicalTable* canonical, uint32_t kind,
                                               uint32_t window) {
  constexpr uint32_t kFirst = 0x10000 - kLongCodes;
  const bool is_ac = (kind & 1) != 0;
  if (is_ac && window >> 16 >= kFirst) {
    const uint32_t half = long_codes[(kind >> 1) * kLongCodes + (window >> 16) - kFirst];
    if (half != 0) return half * 0x10001;
  }
  return CanonicalEntry(canonical[kind], is_ac, window);
}

// The 32 bits that begin `shift` bits (0 to 31 of it count) behind the first of `high`.
__host__ __device__ inline uint32_t Window(uint32_t low, uint32_t high, uint32_t shift) {
#ifdef __CUDA_ARCH__
  return __funnelshift_l(low, high, shift);
#else
  shift &= 31;
  return shift == 0 ? high : high << shift | low >> (32 - shift);
#endif
}

// A position: bits 0 to 4 the bit in a word, bit 5 a carry into the next word, bits 25 to 31 the
// index in zigzag order, its highest bit meaning that the block has ended. Halves of an entry,
// spread to the same places, are added to it.
inline constexpr uint32_t kPositionCarry = 32;
inline constexpr int kPositionIndexShift = 25;
inline constexpr uint32_t kPositionBlockEnd = 1U << 31;

__host__ __device__ inline uint32_t FirstStep(uint32_t entry) {
#ifdef __CUDA_ARCH__
  return __byte_perm(entry, 0, 0x1440);
#else
  return (entry & 0xFF) | (entry & 0xFF00) << 16;
#endif
}
__host__ __device__ inline uint32_t SecondStep(uint32_t entry) {
#ifdef __CUDA_ARCH__
  return __byte_perm(entry, 0, 0x3442);
#else
  return (entry >> 16 & 0xFF) | (entry & 0xFF000000);
#endif
}

// Where a subsequence's decoding begins: bits 0 to 4 the bits that the symbol before it takes of
// it, 5 to 10 the index in zigzag order, 11 to 14 the block in the MCU, modulo the period. 0 at the
// beginning of a segment, and the guess elsewhere.
inline constexpr uint32_t kStateMask = 0x7FFF;
// Results carry the blocks that end in the subsequence above the state.
inline constexpr int kStateCountShift = 16;

__host__ __device__ inline uint32_t PackState(uint32_t position, uint32_t block) {
  return (position & 31) | (position >> kPositionIndexShift & 63) << 5 | block << 11;
}
__host__ __device__ inline uint32_t PositionOf(uint32_t state) {
  return (state & 31) | (state >> 5 & 63) << kPositionIndexShift;
}
__host__ __device__ inline uint32_t BlockOf(uint32_t state) { return state >> 11 & 15; }

// What following the symbols of an image needs.
struct SyncTables {
  const uint32_t* lookup;  // JpegTables, up to its `sync_long`.
  const CanonicalTable* canonical;
  uint32_t pair_mask;
  uint32_t period;
};

// The words of a subsequence, its data not necessarily one after the other: `stride` from word to
// word, and `jump` besides from its last to the first one behind it.
struct WordCursor {
  const uint32_t* next;
  int stride;
  int jump;
};

// Follows the symbols that begin in the `words` words of a subsequence, from `state` on. Returns
// the next subsequence's state and the blocks that have ended. Reads three words beyond. A
// subsequence without data ends a segment: the next one begins with state 0.
__host__ __device__ inline uint32_t FollowSubsequence(WordCursor cursor, int words, uint32_t state,
                                                      const SyncTables& tables) {
  if (words <= 0) return 0;
  const uint32_t* q = cursor.next;
  const int stride = cursor.stride;
  uint32_t position = PositionOf(state), block = BlockOf(state), count = 0;
  uint32_t w0 = q[0], w1 = q[stride], w2 = q[2 * stride];
  q += 3 * stride;
  if (words < 3) q += cursor.jump;
  uint32_t pair = (tables.pair_mask >> block & 1) * (2 * kSyncIndices);
  uint32_t table = pair + (position >> kPositionIndexShift != 0 ? kSyncIndices : 0);
  uint32_t stop = kPositionBlockEnd | (words == 1 ? kPositionCarry : 0);
  while (words > 0) {
    const uint32_t window = Window(w1, w0, position);
    uint32_t entry = tables.lookup[table + (window >> (32 - kSyncIndexBits))];
    if (entry == 0) {
      const auto* long_codes = reinterpret_cast<const uint16_t*>(tables.lookup + 4 * kSyncIndices);
      entry =
          LookUpLong<kSyncLongCodes>(long_codes, tables.canonical, table / kSyncIndices, window) &
          kSyncEntryMask;
    }
    // The second symbol only if the first neither ends the block nor the subsequence: else states
    // would depend on where one has begun.
    const uint32_t one = position + FirstStep(entry), two = position + SecondStep(entry);
    position = (one & stop) != 0 ? one : two;
    if ((position & kPositionCarry) != 0) {
      position ^= kPositionCarry;
      w0 = w1;
      w1 = w2;
      if (words == 3) q += cursor.jump;
      w2 = *q;
      q += stride;
      --words;
      if (words == 1) stop |= kPositionCarry;
    }
    table = pair + kSyncIndices;
    if ((position & kPositionBlockEnd) != 0) {
      position &= 31;
      ++count;
      block = block + 1 == tables.period ? 0 : block + 1;
      pair = (tables.pair_mask >> block & 1) * (2 * kSyncIndices);
      table = pair;
    }
  }
  return PackState(position, block) | count << kStateCountShift;
}

}  // namespace penstock
