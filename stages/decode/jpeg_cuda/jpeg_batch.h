// What the kernels of a call share: its images, and where in the scratch memory everything lies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "penstock/stages/decode/jpeg_cuda/jpeg_entropy.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_geometry.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_planes.h"
#include "penstock/stages/field.h"

namespace penstock {

// An image of the call, made on the device. Numbers that begin with `first_` count over the batch.
struct JpegImage {
  JpegGeometry geometry;
  uint64_t file = 0, scan = 0;    // Addresses.
  uint64_t planes = 0;            // Address of the first plane's rectangle.
  uint32_t plane_offset[3] = {};  // From there to each plane's rectangle, in 8 bytes.
  uint32_t scan_bytes = 0;
  uint32_t first_chunk = 0, first_subsequence = 0, first_sync_block = 0, first_group = 0;
  uint32_t pair_mask = 0, period = 0;
  int32_t mcu_blocks = 0, components = 0, h = 0, v = 0;
  uint32_t equal_image = 0;  // Whose tables are the same, as far as their hashes tell.
};

// Of a chunk: its restart markers (and others), the bytes it keeps, those before the last marker.
struct JpegChunk {
  uint32_t markers = 0, kept = 0, kept_before_marker = 0;
};

// A subsequence whose decoding has to be done again, from `state`.
struct JpegPending {
  uint32_t subsequence = 0, state = 0;
};

struct JpegTotals {
  uint64_t images = 0, chunks = 0, subsequences = 0, sync_blocks = 0, groups = 0, plane_bytes = 0;

  __host__ __device__ void Add(const JpegGeometry& g) {
    ++images;
    chunks += g.chunks;
    subsequences += g.subsequences;
    sync_blocks += g.sync_blocks;
    groups += g.groups;
    plane_bytes += g.plane_bytes;
  }
};

struct JpegImages;
struct JpegDecoded;

// The call's input, and its scratch memory. Kernels get it by value.
struct JpegBatch {
  int32_t count = 0;
  const int32_t* rows = nullptr;
  const JpegDescriptor* descriptors = nullptr;
  const FieldView* files = nullptr;
  const FieldView* pixels = nullptr;
  int32_t* status = nullptr;

  // Zero at first. The data of each subsequence as words, their first byte highest.
  uint32_t* words = nullptr;
  // By subsequence: its bytes (0 to 32), and above them its segment's number in the image.
  uint32_t* contents = nullptr;
  // By image: subsequences in use; the first damaged block, inverted; entries of `pending`.
  uint32_t *used = nullptr, *damage = nullptr, *pending_count = nullptr;
  uint32_t* ticket = nullptr;          // The next group to decode.
  unsigned long long* sums = nullptr;  // By group: what DC values have come to.
  uint32_t* equal_slots = nullptr;     // A hash table over images.
  uint32_t equal_mask = 0;
  size_t zero_bytes = 0;

  JpegImage* images = nullptr;
  JpegPlanes* planes = nullptr;
  // First chunk, block and group of each image, and the end of the last.
  uint32_t *first_chunk = nullptr, *first_sync_block = nullptr, *first_group = nullptr;
  uint32_t* tables_of = nullptr;  // By image: whose tables it uses.
  JpegTables* tables = nullptr;
  CanonicalTable* canonical = nullptr;  // Four an image.
  uint16_t* quantisation = nullptr;     // 192 an image, each table column by column.
  JpegChunk* chunks = nullptr;
  uint32_t* states = nullptr;   // By subsequence: the state at its end, and its count of blocks.
  uint32_t* entries = nullptr;  // By block that synchronises: the state it began with.
  JpegPending* pending = nullptr;
  uint32_t* first_block = nullptr;  // By subsequence: the block, in its image, that it begins in.
  // By group, and one more an image: the subsequence, in its image, in which the group's first
  // block begins; kNoSubsequence if none does.
  uint32_t* group_start = nullptr;
  std::byte* plane_memory = nullptr;

  size_t bytes = 0;  // Of scratch memory.
};

inline constexpr uint32_t kNoSubsequence = ~0U;
// Guards around planes: whoever reads a little beyond stays in the scratch memory.
inline constexpr size_t kPlaneGuard = 64;
// Words that are read behind the last subsequence's.
inline constexpr size_t kWordGuard = 8;
inline constexpr int kQuantisationItems = 3 * 64;
inline constexpr size_t kScratchAlignment = 256;

// The segment of a subsequence is kept above its bytes.
inline constexpr int kContentsSegmentShift = 6;
__host__ __device__ inline uint32_t ContentBytes(uint32_t contents) { return contents & 63; }
__host__ __device__ inline uint32_t ContentSegment(uint32_t contents) {
  return contents >> kContentsSegmentShift;
}

// Lays out a batch of `totals` from `scratch` on, which may be null to learn `bytes`.
JpegBatch PlanScratch(const JpegTotals& totals, std::byte* scratch);

// What EnqueueJpegPlanes() does, with an event recorded before each of its steps and one behind the
// last, unless `events` is null.
inline constexpr int kJpegSteps = 8;
inline constexpr const char* kJpegStepNames[kJpegSteps] = {
    "clear", "layout", "tables", "unstuff", "synchronise", "fix", "decode", "status"};
cudaError_t EnqueueJpegSteps(const JpegImages& images, std::byte* scratch, cudaStream_t stream,
                             const cudaEvent_t* events, JpegDecoded& decoded);

// Each puts one kernel, or two, into `stream`.
cudaError_t LaunchJpegLayout(const JpegBatch& batch, cudaStream_t stream);
cudaError_t LaunchJpegTables(const JpegBatch& batch, cudaStream_t stream);
cudaError_t LaunchJpegUnstuff(const JpegBatch& batch, uint64_t chunks, cudaStream_t stream);
cudaError_t LaunchJpegSync(const JpegBatch& batch, uint64_t blocks, cudaStream_t stream);
cudaError_t LaunchJpegFix(const JpegBatch& batch, cudaStream_t stream);
cudaError_t LaunchJpegDecode(const JpegBatch& batch, uint64_t groups, cudaStream_t stream);
cudaError_t LaunchJpegStatus(const JpegBatch& batch, cudaStream_t stream);

}  // namespace penstock
