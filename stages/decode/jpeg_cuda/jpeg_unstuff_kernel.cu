// Frees the scan's data of stuffing, fill bytes and markers, and writes them as words whose first
// byte is highest, each segment (between restart markers) from a subsequence of its own on. First
// each chunk's bytes are counted, then they are moved.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kThreadBytes = 16;
static_assert(kThreads * kThreadBytes == kJpegChunkBytes);
constexpr uint32_t kAllBytes = 0xFFFF;  // Of a thread, a bit each.
constexpr uint32_t kRestartMarker = 0xD0;

// A thread's 16 bytes, the bits of `kept` and `markers` for the first byte lowest. Markers are
// those bytes that say which marker it is.
struct Piece {
  uint4 bytes;
  uint32_t kept = 0, markers = 0;

  __device__ uint32_t word(int i) const {
    return i == 0 ? bytes.x : i == 1 ? bytes.y : i == 2 ? bytes.z : bytes.w;
  }
  __device__ uint32_t byte(int i) const { return word(i / 4) >> (i % 4 * 8) & 255; }
};

// Four bits for the bytes of `word` that equal those of `pattern`.
__device__ uint32_t EqualBytes(uint32_t word, uint32_t pattern) {
  const uint32_t bits = __vcmpeq4(word, pattern) & 0x08040201;
  return (bits | bits >> 8 | bits >> 16 | bits >> 24) & 15;
}

// The chunk's piece of this thread. Of bytes after FF: 00 is stuffing, FF makes the first a fill
// byte, any other a marker. What is behind the scan counts as FF.
__device__ Piece LoadPiece(const JpegImage& image, uint32_t chunk) {
  const uint64_t base = image.scan & ~uint64_t{kThreadBytes - 1};
  const uint32_t start = static_cast<uint32_t>(image.scan - base);
  const uint32_t end = start + image.scan_bytes;
  const uint32_t at = chunk * kJpegChunkBytes + threadIdx.x * kThreadBytes;
  const auto* file = reinterpret_cast<const uint8_t*>(base);
  Piece piece{.bytes = make_uint4(0, 0, 0, 0)};
  if (at < end) piece.bytes = *reinterpret_cast<const uint4*>(file + at);
  uint32_t is_ff = 0, is_zero = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    is_ff |= EqualBytes(piece.word(i), 0xFFFFFFFF) << (4 * i);
    is_zero |= EqualBytes(piece.word(i), 0) << (4 * i);
  }
  uint32_t valid = kAllBytes, behind = 0;
  if (at >= end) {
    behind = kAllBytes;
  } else if (end - at < kThreadBytes) {
    behind = kAllBytes << (end - at) & kAllBytes;
  }
  if (at < start) valid = kAllBytes << (start - at) & kAllBytes;  // Only the first piece.
  valid &= ~behind;
  is_ff = (is_ff & valid) | behind;
  is_zero &= valid;

  uint32_t after_ff = __shfl_up_sync(kAllLanes, is_ff >> (kThreadBytes - 1), 1);
  uint32_t before_zero = __shfl_down_sync(kAllLanes, is_zero & 1, 1);
  if (Lane() == 0) after_ff = at > start && at < end && file[at - 1] == 0xFF;
  if (Lane() == kWarp - 1) {
    before_zero = at + kThreadBytes < end && file[at + kThreadBytes] == 0;
  }
  const uint32_t previous_ff = is_ff << 1 | after_ff;
  const uint32_t next_zero = is_zero >> 1 | before_zero << (kThreadBytes - 1);
  piece.kept = valid & ((is_ff & next_zero) | (~is_ff & ~previous_ff));
  piece.markers = valid & previous_ff & ~is_ff & ~is_zero;
  return piece;
}

// Bytes kept and markers of the threads below, and of the chunk: kept bytes in the low half.
struct Counts {
  uint32_t below = 0, total = 0;
  __device__ static uint32_t Kept(uint32_t counts) { return counts & 0xFFFF; }
  __device__ static uint32_t Markers(uint32_t counts) { return counts >> 16; }
};

__device__ Counts CountBytes(const Piece& piece) {
  __shared__ uint32_t warps[kWarps];
  const uint32_t mine = __popc(piece.kept) | __popc(piece.markers) << 16;
  const uint32_t sum = WarpInclusiveSum(mine);
  if (Lane() == kWarp - 1) warps[Warp()] = sum;
  __syncthreads();
  Counts counts{.below = sum - mine};
  for (int i = 0; i < kWarps; ++i) {
    if (i < Warp()) counts.below += warps[i];
    counts.total += warps[i];
  }
  return counts;
}

__global__ void __launch_bounds__(kThreads) CountKernel(JpegBatch batch) {
  const uint32_t chunk = blockIdx.x;
  const int i = FindOwner(batch.first_chunk, batch.count, chunk);
  const JpegImage& image = batch.images[i];
  const Piece piece = LoadPiece(image, chunk - image.first_chunk);
  const Counts counts = CountBytes(piece);
  JpegChunk& out = batch.chunks[chunk];
  if (threadIdx.x == 0) {
    out.markers = Counts::Markers(counts.total);
    out.kept = Counts::Kept(counts.total);
    if (out.markers == 0) out.kept_before_marker = 0;
  }
  const uint32_t mine = __popc(piece.markers);
  if (mine == 0 || Counts::Markers(counts.below) + mine != Counts::Markers(counts.total)) return;
  const uint32_t last = 31 - __clz(piece.markers);
  out.kept_before_marker = Counts::Kept(counts.below) + __popc(piece.kept & ((1U << last) - 1));
}

// What lies before a chunk: markers, and bytes kept, in all and before the last of the markers.
struct Before {
  uint32_t markers, kept, segment_start;
};

__device__ Before SumChunks(const JpegChunk* chunks, int count) {
  __shared__ uint32_t markers, kept, kept_before, last_marked;
  if (threadIdx.x == 0) markers = kept = kept_before = last_marked = 0;
  __syncthreads();
  uint32_t my_markers = 0, my_kept = 0, my_last = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const JpegChunk chunk = chunks[i];
    my_markers += chunk.markers;
    my_kept += chunk.kept;
    if (chunk.markers != 0) my_last = i + 1;
  }
  my_kept = WarpSum(my_kept);
  if (Lane() == 0 && my_kept != 0) atomicAdd(&kept, my_kept);
  if (my_markers != 0) {
    atomicAdd(&markers, my_markers);
    atomicMax(&last_marked, my_last);
  }
  __syncthreads();
  if (last_marked != 0) {
    const int last = static_cast<int>(last_marked) - 1;
    uint32_t sum = 0;
    for (int i = threadIdx.x; i < last; i += kThreads) sum += chunks[i].kept;
    if (threadIdx.x == 0) sum += chunks[last].kept_before_marker;
    if (sum != 0) atomicAdd(&kept_before, sum);
  }
  __syncthreads();
  return {markers, kept, kept_before};
}

// Where byte `kept` of an image goes if it belongs to segment `segment`, whose first is byte
// `segment_start`: segments begin at whole subsequences, with a gap between them.
__device__ uint32_t Destination(uint32_t kept, uint32_t segment, uint32_t segment_start) {
  return kept + segment * (kSegmentGap * kSubsequenceBytes) - segment_start % kSubsequenceBytes;
}

// Notes that bytes from `begin` to `end` of an image are there, `count` subsequences at a time.
__device__ void NoteContents(const JpegBatch& batch, int image, uint32_t segment, uint32_t begin,
                             uint32_t end, uint32_t first, uint32_t count) {
  uint32_t* contents = batch.contents + batch.images[image].first_subsequence;
  const uint32_t last = (end - 1) / kSubsequenceBytes;
  for (uint32_t s = begin / kSubsequenceBytes + first; s <= last; s += count) {
    const uint32_t bytes = min(end - s * kSubsequenceBytes, kSubsequenceBytes);
    atomicMax(&contents[s], segment << kContentsSegmentShift | bytes);
    if (s == last) atomicMax(&batch.used[image], s + 1);
  }
}

// The most of a chunk that can be markers.
constexpr int kMaxMarkers = kJpegChunkBytes / 2;

// A chunk with markers: byte by byte.
__device__ void MoveWithMarkers(const JpegBatch& batch, int image_index, const Piece& piece,
                                const Counts& counts, const Before& before, uint8_t* out) {
  __shared__ uint16_t kept_at_marker[kMaxMarkers];
  const JpegImage& image = batch.images[image_index];
  const JpegGeometry& g = image.geometry;
  uint32_t rank = Counts::Markers(counts.below);
  for (uint32_t left = piece.markers; left != 0; left &= left - 1, ++rank) {
    const int i = __ffs(static_cast<int>(left)) - 1;
    kept_at_marker[rank] =
        static_cast<uint16_t>(Counts::Kept(counts.below) + __popc(piece.kept & ((1U << i) - 1)));
    const uint32_t number = before.markers + rank;  // Of all markers of the image.
    if (number + 1 < g.segments && piece.byte(i) != kRestartMarker + number % 8) {
      ReportDamage(batch, image_index, (number + 1) * g.segment_mcus * image.mcu_blocks);
    }
  }
  __syncthreads();
  rank = Counts::Markers(counts.below);
  uint32_t kept = before.kept + Counts::Kept(counts.below);
  uint32_t segment = before.markers + rank;
  uint32_t start = rank == 0 ? before.segment_start : before.kept + kept_at_marker[rank - 1];
  uint32_t first = Destination(kept, segment, start), at = first;
  const auto finish_run = [&] {
    if (at > first && segment < g.segments) {
      NoteContents(batch, image_index, segment, first, at, 0, 1);
    }
  };
  for (int i = 0; i < kThreadBytes; ++i) {
    if ((piece.markers >> i & 1) != 0) {
      finish_run();
      ++segment;
      start = kept;
      first = at = Destination(kept, segment, start);
    }
    if ((piece.kept >> i & 1) == 0) continue;
    if (segment < g.segments) out[at ^ 3] = static_cast<uint8_t>(piece.byte(i));
    ++at;
    ++kept;
  }
  finish_run();
}

// A chunk within one segment: through shared memory, in whole words but for the first and last.
__device__ void MoveWhole(const Piece& piece, const Counts& counts, uint32_t begin, uint8_t* out) {
  __shared__ __align__(16) uint8_t staged[kJpegChunkBytes + kThreadBytes];
  const uint32_t shift = begin & 3, end = shift + Counts::Kept(counts.total);
  uint32_t at = shift + Counts::Kept(counts.below);
#pragma unroll
  for (int i = 0; i < kThreadBytes; ++i) {
    if ((piece.kept >> i & 1) != 0) staged[at++ ^ 3] = static_cast<uint8_t>(piece.byte(i));
  }
  __syncthreads();
  out += begin - shift;
  for (uint32_t i = threadIdx.x * 4; i < end; i += kThreads * 4) {
    if (i >= shift && i + 4 <= end) {
      *reinterpret_cast<uint32_t*>(out + i) = *reinterpret_cast<const uint32_t*>(staged + i);
      continue;
    }
    for (uint32_t k = max(i, shift); k < min(i + 4, end); ++k) out[k ^ 3] = staged[k ^ 3];
  }
}

__global__ void __launch_bounds__(kThreads) MoveKernel(JpegBatch batch) {
  const int i = FindOwner(batch.first_chunk, batch.count, blockIdx.x);
  const JpegImage& image = batch.images[i];
  const uint32_t chunk = blockIdx.x - image.first_chunk;
  const Piece piece = LoadPiece(image, chunk);
  const Counts counts = CountBytes(piece);
  const Before before = SumChunks(batch.chunks + image.first_chunk, static_cast<int>(chunk));
  if (before.markers >= image.geometry.segments) return;  // Behind what is wanted.
  auto* out =
      reinterpret_cast<uint8_t*>(batch.words + size_t{image.first_subsequence} * kSubsequenceWords);
  if (Counts::Markers(counts.total) != 0) {
    MoveWithMarkers(batch, i, piece, counts, before, out);
    return;
  }
  if (counts.total == 0) return;
  const uint32_t begin = Destination(before.kept, before.markers, before.segment_start);
  MoveWhole(piece, counts, begin, out);
  NoteContents(batch, i, before.markers, begin, begin + counts.total, threadIdx.x, kThreads);
}

}  // namespace

cudaError_t LaunchJpegUnstuff(const JpegBatch& batch, uint64_t chunks, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(chunks);
  CountKernel<<<blocks, kThreads, 0, stream>>>(batch);
  MoveKernel<<<blocks, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
