// From synchronised subsequences to samples. Persistent blocks take groups of MCUs in order: decode
// a group's coefficients into shared memory, add up the differences of DC values, first in the
// group, then over the groups before by looking back, and write the inverse DCT's samples to the
// planes. A block that looks back waits only for groups that others have taken before.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"
#include "penstock/stages/decode/jpeg_cuda/jpeg_idct.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBlocksPerProcessor = 5;
// Blocks in flight; the rest is left to other batches' kernels.
constexpr int kGridPerProcessor = 4;
constexpr int kStaged = 96;  // Subsequences at a time.
constexpr int kRow = kStaged + 1;
constexpr int kLookAhead = 3;    // Words behind the last staged subsequence.
constexpr int kBlockItems = 72;  // Of a block of coefficients: 64, and some to miss bank conflicts.
constexpr int kComponents = 3;
constexpr int kBlockLanes = 8;  // That transform a block together.
constexpr uint32_t kUnwanted = ~0U;
// More bits than a subsequence has: for all that are not their segment's last.
constexpr int kUnlimited = 1 << 20;

// Where a block's samples go, in 8 bytes from the image's planes on, and its coefficients lie, in
// bytes from the group's on.
struct Place {
  uint32_t samples, coefficients;
};

struct Shared {
  uint32_t long_codes[kDecodeLongCodes];
  uint32_t lookup[4 * kDecodeIndices];
  uint32_t words[kRow * kSubsequenceWords];
  alignas(16) int16_t blocks[kGroupBlocks * kBlockItems];
  alignas(16) int16_t ignored[kBlockItems];  // For blocks of the groups beside.
  Place places[kGroupBlocks];
  // From zigzag order to columns. libjpeg writes what lies behind the last coefficient to the last.
  uint8_t positions[128];
  int sums[kComponents][kWarps];
  bool is_anew[kWarps];
  int before[kComponents];  // DC values that the group begins with.
  uint32_t item;
};
static_assert(sizeof(Shared) <= 48 * 1024);

struct Group {
  const JpegImage& image;
  int image_index;
  uint32_t index;  // In the image.
  uint32_t first_mcu, first_block;
  int mcus, blocks;
  int mcu_blocks, luma_blocks;
};

__device__ Group FindGroup(const JpegBatch& batch, uint32_t item) {
  const int i = FindOwner(batch.first_group, batch.count, item);
  const JpegImage& image = batch.images[i];
  const JpegGeometry& g = image.geometry;
  const uint32_t index = item - image.first_group, first_mcu = index * g.group_mcus;
  const int mcus = static_cast<int>(min(g.group_mcus, g.mcus - first_mcu));
  return {.image = image,
          .image_index = i,
          .index = index,
          .first_mcu = first_mcu,
          .first_block = first_mcu * image.mcu_blocks,
          .mcus = mcus,
          .blocks = mcus * image.mcu_blocks,
          .mcu_blocks = image.mcu_blocks,
          .luma_blocks = image.mcu_blocks - (image.components - 1)};
}

__device__ void LoadTables(const JpegTables& tables, Shared& shared) {
  const auto* from = reinterpret_cast<const uint4*>(tables.decode_long);
  for (uint32_t i = threadIdx.x; i < kDecodeTableWords / 4; i += kThreads) {
    reinterpret_cast<uint4*>(shared.long_codes)[i] = from[i];
  }
}

__device__ void ClearBlocks(int count, Shared& shared) {
  constexpr int kWords = kBlockItems * static_cast<int>(sizeof(int16_t) / 2) / 8;
  for (int i = threadIdx.x; i < count * kWords; i += kThreads) {
    reinterpret_cast<uint4*>(shared.blocks)[i] = make_uint4(0, 0, 0, 0);
  }
}

__device__ bool IsWithin(const BlockRange& range, int x, int y) {
  return x >= range.first_x && x <= range.last_x && y >= range.first_y && y <= range.last_y;
}

// Places of the group's blocks, ordered for the writing: luma by rows of blocks, then each chroma.
__device__ void FillPlaces(const Group& group, Shared& shared) {
  const JpegImage& image = group.image;
  const JpegGeometry& g = image.geometry;
  const int first_y = static_cast<int>(group.first_mcu) / g.mcus_across;
  const int first_x = static_cast<int>(group.first_mcu) - first_y * g.mcus_across;
  const int row_blocks = group.mcus * image.h, luma = group.mcus * group.luma_blocks;
  const int log2_h = jpeg_internal::Log2(image.h);
  for (int r = threadIdx.x; r < group.blocks; r += kThreads) {
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

// The value of the `size` bits (not 0) that end at bit `end` of the window.
__device__ int Extend(uint32_t window, uint32_t end, uint32_t size) {
  const uint32_t bits = window << (end - size);
  const int value = static_cast<int>(bits >> (32 - size));
  return static_cast<int>(bits) < 0 ? value : value - (1 << size) + 1;
}

// What a thread knows of its subsequence.
struct Subsequence {
  int words;  // With data.
  int limit;  // Bits that are there.
  uint32_t state;
  int block;  // In the group; negative before it.
  int end;    // Blocks of the group up to the segment's end.
};

__device__ Subsequence Inspect(const JpegBatch& batch, const Group& group, uint32_t s,
                               uint32_t used) {
  const JpegGeometry& g = group.image.geometry;
  const size_t at = size_t{group.image.first_subsequence} + s;
  const uint32_t contents = batch.contents[at];
  const bool is_last = s + 1 >= used || batch.contents[at + 1] == 0;
  const uint32_t segment_end = (ContentSegment(contents) + 1) * g.segment_mcus * group.mcu_blocks;
  return {.words = WordsOf(contents),
          .limit = is_last ? static_cast<int>(ContentBytes(contents)) * 8 : kUnlimited,
          .state = s == 0 ? 0 : batch.states[at - 1] & kStateMask,
          .block = static_cast<int>(batch.first_block[at] - group.first_block),
          .end = min(group.blocks, static_cast<int>(segment_end - group.first_block))};
}

// Decodes what begins in subsequence `column` of the staged ones. Reports codes that are none, and
// blocks that take more bits than there are.
__device__ void DecodeSubsequence(const JpegBatch& batch, const Group& group,
                                  const Subsequence& sub, int column,
                                  const CanonicalTable* canonical, Shared& shared) {
  int words = sub.words, block = sub.block;
  if (words == 0 || block >= sub.end) return;
  const uint32_t mask = group.image.pair_mask, period = group.image.period;
  uint32_t position = PositionOf(sub.state), phase = BlockOf(sub.state);
  const uint32_t* q = shared.words + column;
  const int jump = 1 - words * kRow;
  uint32_t w0 = q[0], w1 = q[kRow], w2 = q[2 * kRow];
  q += 3 * kRow;
  if (words < 3) q += jump;
  uint32_t pair = (mask >> phase & 1) * (2 * kDecodeIndices);
  uint32_t table = pair + (position >> kPositionIndexShift != 0 ? kDecodeIndices : 0);
  uint32_t stop = kPositionBlockEnd | (words == 1 ? kPositionCarry : 0);
  int16_t* out = block < 0 ? shared.ignored : shared.blocks + block * kBlockItems;
  while (words > 0) {
    const uint32_t window = Window(w1, w0, position);
    uint32_t entry = shared.lookup[table + (window >> (32 - kDecodeIndexBits))];
    if (entry == 0) {
      entry = LookUpLong<kDecodeLongCodes>(reinterpret_cast<const uint16_t*>(shared.long_codes),
                                           canonical, table / kDecodeIndices, window);
      if (entry == kInvalidEntry * 0x10001 && block >= 0) {
        ReportDamage(batch, group.image_index, group.first_block + block);
      }
    }
    const uint32_t steps = entry & kSyncEntryMask;
    const uint32_t one = position + FirstStep(steps), two = position + SecondStep(steps);
    const uint32_t size_one = entry >> 5 & 15, size_two = entry >> 21 & 15;
    const bool takes_two = (one & stop) == 0 && two != one;
    if (size_one != 0) {
      out[shared.positions[(one >> kPositionIndexShift) - 1]] =
          static_cast<int16_t>(Extend(window, steps & 31, size_one));
    }
    if (takes_two && size_two != 0) {
      out[shared.positions[(two >> kPositionIndexShift) - 1]] =
          static_cast<int16_t>(Extend(window, steps >> 16 & 31, size_two));
    }
    position = takes_two ? two : one;
    if ((position & kPositionCarry) != 0) {
      position ^= kPositionCarry;
      w0 = w1;
      w1 = w2;
      if (words == 3) q += jump;
      w2 = *q;
      q += kRow;
      --words;
      if (words == 1) stop |= kPositionCarry;
    }
    table = pair + kDecodeIndices;
    if ((position & kPositionBlockEnd) != 0) {
      position &= 31;
      const int taken = (sub.words - words) * 32 + static_cast<int>(position);
      if (taken > sub.limit && block >= 0) {
        ReportDamage(batch, group.image_index, group.first_block + block);
      }
      if (++block >= sub.end) break;
      out = block < 0 ? shared.ignored : shared.blocks + block * kBlockItems;
      phase = phase + 1 == period ? 0 : phase + 1;
      pair = (mask >> phase & 1) * (2 * kDecodeIndices);
      table = pair;
    }
  }
}

// The coefficients of the group's blocks, DC values still as differences.
__device__ void DecodeGroup(const JpegBatch& batch, const Group& group,
                            const CanonicalTable* canonical, Shared& shared) {
  const JpegImage& image = group.image;
  const uint32_t used = batch.used[group.image_index];
  const uint32_t* start = batch.group_start + image.first_group + group.image_index + group.index;
  const uint32_t first = start[0];
  if (first == kNoSubsequence) return;  // Its data are missing.
  const uint32_t last = min(start[1], used - 1);
  const uint32_t end_block = group.first_block + group.blocks;
  const size_t base = image.first_subsequence;
  for (uint32_t f = first; f <= last; f += kStaged) {
    if (batch.first_block[base + f] >= end_block) break;  // Where the next group is missing.
    const int count = static_cast<int>(min(uint32_t{kStaged}, last + 1 - f));
    if (f != first) __syncthreads();
    const uint32_t* words = batch.words + (base + f) * kSubsequenceWords;
    for (int i = threadIdx.x; i < count * static_cast<int>(kSubsequenceWords) + kLookAhead;
         i += kThreads) {
      shared.words[i % kSubsequenceWords * kRow + i / kSubsequenceWords] = words[i];
    }
    __syncthreads();
    const int column = static_cast<int>(threadIdx.x);
    if (column < count) {
      const Subsequence sub = Inspect(batch, group, f + column, used);
      DecodeSubsequence(batch, group, sub, column, canonical, shared);
    }
  }
}

// Sums of DC differences by component, perhaps anew from a restart marker on.
struct Sums {
  int of[kComponents] = {0, 0, 0};
  bool is_anew = false;

  // What these are after `next`.
  __device__ void Append(const Sums& next) {
    for (int c = 0; c < kComponents; ++c) of[c] = next.is_anew ? next.of[c] : of[c] + next.of[c];
    is_anew |= next.is_anew;
  }
};

// Adds up the differences within the group; a thread an MCU. Returns the sums at its end. `restart`
// is the first MCU of the group that begins a segment, if there is one.
__device__ Sums SumGroup(const Group& group, int restart, Shared& shared) {
  const int segment_mcus = static_cast<int>(group.image.geometry.segment_mcus);
  Sums carry;
  for (int tile = 0; tile < group.mcus; tile += kThreads) {
    const int mcu = tile + static_cast<int>(threadIdx.x);
    const bool is_in = mcu < group.mcus;
    int16_t* dc = shared.blocks + mcu * group.mcu_blocks * kBlockItems;
    Sums mine;
    mine.is_anew = is_in && mcu >= restart && (mcu - restart) % segment_mcus == 0;
    for (int b = 0; is_in && b < group.mcu_blocks; ++b) {
      const int value = dc[b * kBlockItems];
      if (b < group.luma_blocks) {
        mine.of[0] += value;
        dc[b * kBlockItems] = static_cast<int16_t>(mine.of[0]);
      } else {
        mine.of[b - group.luma_blocks + 1] = value;
      }
    }
    const Sums alone = mine;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      Sums below;
      for (int c = 0; c < kComponents; ++c) {
        below.of[c] = __shfl_up_sync(kAllLanes, mine.of[c], distance);
      }
      below.is_anew = __shfl_up_sync(kAllLanes, static_cast<int>(mine.is_anew), distance) != 0;
      if (Lane() < distance) continue;
      below.Append(mine);
      mine = below;
    }
    if (Lane() == kWarp - 1) {
      for (int c = 0; c < kComponents; ++c) shared.sums[c][Warp()] = mine.of[c];
      shared.is_anew[Warp()] = mine.is_anew;
    }
    __syncthreads();
    Sums before;  // This warp.
    for (int w = 0; w < kWarps; ++w) {
      if (w == Warp()) before = carry;
      Sums sums;
      for (int c = 0; c < kComponents; ++c) sums.of[c] = shared.sums[c][w];
      sums.is_anew = shared.is_anew[w];
      carry.Append(sums);
    }
    before.Append(mine);
    for (int b = 0; is_in && b < group.mcu_blocks; ++b) {
      const int c = b < group.luma_blocks ? 0 : b - group.luma_blocks + 1;
      const int offset = before.of[c] - alone.of[c];
      dc[b * kBlockItems] = static_cast<int16_t>(dc[b * kBlockItems] + offset);
    }
    __syncthreads();
  }
  return carry;
}

// A group's word for those that look back: three sums of 16 bits and, above them, whether they are
// of the group alone or of the whole segment so far. 0: not yet known.
using SumsWord = unsigned long long;
constexpr int kKindShift = 48;
constexpr SumsWord kOfGroup = 1, kOfSegment = 2;

__device__ SumsWord PackSums(const int (&sums)[kComponents], SumsWord kind) {
  SumsWord word = kind << kKindShift;
  for (int c = 0; c < kComponents; ++c) {
    word |= static_cast<SumsWord>(static_cast<uint16_t>(sums[c])) << (16 * c);
  }
  return word;
}

// One warp: DC values at the group's beginning, into shared.before; publishes what the next need.
__device__ void LookBack(const JpegBatch& batch, const Group& group, const Sums& sums,
                         Shared& shared) {
  volatile SumsWord* words = batch.sums + group.image.first_group;
  const auto publish = [&](const int (&values)[kComponents], SumsWord kind) {
    if (Lane() == 0) words[group.index] = PackSums(values, kind);
  };
  if (sums.is_anew) {
    publish(sums.of, kOfSegment);
  } else if (group.index > 0) {
    publish(sums.of, kOfGroup);
  }
  int before[kComponents] = {0, 0, 0};
  for (int back = static_cast<int>(group.index) - 1; back >= 0; back -= kWarp) {
    const int i = back - Lane();
    SumsWord word = 0;
    do {
      if (i >= 0 && word == 0) word = words[i];
    } while (__any_sync(kAllLanes, i >= 0 && word == 0));
    const uint32_t whole = __ballot_sync(kAllLanes, word >> kKindShift == kOfSegment);
    const int end = whole != 0 ? __ffs(static_cast<int>(whole)) - 1 : kWarp - 1;
    for (int c = 0; c < kComponents; ++c) {
      const bool counts = i >= 0 && Lane() <= end;
      const int value = counts ? static_cast<int16_t>(word >> (16 * c)) : 0;
      before[c] += static_cast<int>(WarpSum(static_cast<uint32_t>(value)));
    }
    if (whole != 0) break;
  }
  int after[kComponents];
  for (int c = 0; c < kComponents; ++c) {
    after[c] = before[c] + sums.of[c];
    if (Lane() == 0) shared.before[c] = before[c];
  }
  if (!sums.is_anew) publish(after, kOfSegment);
}

// The samples of one component: eight lanes a block, a column each and then a row each.
__device__ void TransformComponent(const JpegBatch& batch, const Group& group, int component,
                                   int first_place, int count, uint32_t restart_bytes,
                                   Shared& shared) {
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
       r += kThreads / kBlockLanes) {
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

__device__ void Transform(const JpegBatch& batch, const Group& group, int restart, Shared& shared) {
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

// The first MCU of the group that begins a segment; behind the group if there is none.
__device__ int FirstRestart(const Group& group) {
  const uint32_t segment = group.image.geometry.segment_mcus;
  const uint32_t next = (group.first_mcu + segment - 1) / segment * segment;
  return static_cast<int>(min(next - group.first_mcu, kGroupBlocks));
}

__device__ void RunGroup(const JpegBatch& batch, const Group& group, uint32_t set, Shared& shared) {
  ClearBlocks(group.blocks, shared);
  FillPlaces(group, shared);
  __syncthreads();
  DecodeGroup(batch, group, batch.canonical + 4 * size_t{set}, shared);
  __syncthreads();
  const int restart = FirstRestart(group);
  const Sums sums = SumGroup(group, restart, shared);
  if (Warp() == 0) LookBack(batch, group, sums, shared);
  __syncthreads();
  Transform(batch, group, restart, shared);
}

__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor) DecodeKernel(JpegBatch batch) {
  __shared__ Shared shared;
  const uint32_t groups = batch.first_group[batch.count];
  uint32_t loaded = ~0U;
  if (threadIdx.x < sizeof(shared.positions)) {
    shared.positions[threadIdx.x] = kZigzagToColumns[min(threadIdx.x, 63U)];
  }
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) shared.item = atomicAdd(batch.ticket, 1U);
    __syncthreads();
    const uint32_t item = shared.item;
    if (item >= groups) return;
    const Group group = FindGroup(batch, item);
    const uint32_t set = batch.tables_of[group.image_index];
    if (set != loaded) LoadTables(batch.tables[set], shared);
    loaded = set;
    RunGroup(batch, group, set, shared);
  }
}

// What was found of each image, for the caller and for those who read the planes.
constexpr int kStatusThreads = 256;

__global__ void StatusKernel(JpegBatch batch) {
  const int i = static_cast<int>(blockIdx.x * kStatusThreads + threadIdx.x);
  if (i >= batch.count) return;
  const JpegImage& image = batch.images[i];
  const JpegGeometry& g = image.geometry;
  uint32_t status = 0;
  if (batch.damage[i] != 0) {
    const uint32_t block = ~batch.damage[i];
    const int row = static_cast<int>(block / image.mcu_blocks) / g.mcus_across;
    if (row <= g.last_damage_row) status = static_cast<uint32_t>(row) + 1;
  }
  batch.planes[i].damaged = status;
  batch.status[batch.rows[i]] = static_cast<int32_t>(status);
}

}  // namespace

cudaError_t LaunchJpegDecode(const JpegBatch& batch, uint64_t groups, cudaStream_t stream) {
  if (groups == 0) return cudaSuccess;
  int device = 0, processors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (error != cudaSuccess) return error;
  const uint64_t most = static_cast<uint64_t>(processors) * kGridPerProcessor;
  DecodeKernel<<<static_cast<unsigned>(min(groups, most)), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t LaunchJpegStatus(const JpegBatch& batch, cudaStream_t stream) {
  const int blocks = (batch.count + kStatusThreads - 1) / kStatusThreads;
  StatusKernel<<<blocks, kStatusThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
