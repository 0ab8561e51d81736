#include "penstock/stages/decode/jpeg_cuda/jpeg_decoder_cuda.h"

#include "penstock/stages/decode/jpeg_cuda/jpeg_batch.h"

namespace penstock {
namespace {

size_t RoundUp(size_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// Slots of a hash table for `images`: a power of two, at most half of them taken.
size_t EqualSlots(uint64_t images) {
  size_t slots = 2;
  while (slots < 2 * images) slots *= 2;
  return slots;
}

// Hands out pieces of the scratch memory.
class Arena {
 public:
  explicit Arena(std::byte* start) : start_(start) {}
  template <class T>
  void Place(T*& array, size_t count) {
    array = start_ == nullptr ? nullptr : reinterpret_cast<T*>(start_ + used_);
    used_ += RoundUp(count * sizeof(T));
  }
  size_t used() const { return used_; }

 private:
  std::byte* const start_;
  size_t used_ = 0;
};

}  // namespace

JpegBatch PlanScratch(const JpegTotals& totals, std::byte* scratch) {
  JpegBatch batch;
  const size_t images = totals.images;
  Arena arena(scratch);
  batch.equal_mask = static_cast<uint32_t>(EqualSlots(images) - 1);
  arena.Place(batch.words, totals.subsequences * kSubsequenceWords + kWordGuard);
  arena.Place(batch.contents, totals.subsequences);
  arena.Place(batch.used, images);
  arena.Place(batch.damage, images);
  arena.Place(batch.pending_count, images);
  arena.Place(batch.ticket, 1);
  arena.Place(batch.sums, totals.groups);
  arena.Place(batch.equal_slots, batch.equal_mask + 1);
  batch.zero_bytes = arena.used();
  arena.Place(batch.images, images);
  arena.Place(batch.planes, images);
  arena.Place(batch.first_chunk, images + 1);
  arena.Place(batch.first_sync_block, images + 1);
  arena.Place(batch.first_group, images + 1);
  arena.Place(batch.tables_of, images);
  arena.Place(batch.tables, images);
  arena.Place(batch.canonical, 4 * images);
  arena.Place(batch.quantisation, images * kQuantisationItems);
  arena.Place(batch.chunks, totals.chunks);
  arena.Place(batch.states, totals.subsequences);
  arena.Place(batch.entries, totals.sync_blocks);
  arena.Place(batch.pending, totals.subsequences);
  arena.Place(batch.first_block, totals.subsequences);
  arena.Place(batch.group_start, totals.groups + images);
  arena.Place(batch.plane_memory, totals.plane_bytes + 2 * kPlaneGuard);
  batch.bytes = arena.used();
  return batch;
}

size_t JpegCallScratchBytes(int64_t images) {
  JpegTotals totals;
  totals.images = static_cast<uint64_t>(images);
  // What is rounded up for no images is rounded up at most once more for some: one unit an array.
  constexpr size_t kArrays = 24;
  return PlanScratch(totals, nullptr).bytes + kArrays * kScratchAlignment;
}

size_t JpegImageScratchBytes(const JpegDescriptor& descriptor, const Region& region) {
  const JpegGeometry g = GeometryOf(descriptor, region);
  const size_t per_subsequence = kSubsequenceBytes + sizeof(*JpegBatch::contents) +
                                 sizeof(*JpegBatch::states) + sizeof(*JpegBatch::pending) +
                                 sizeof(*JpegBatch::first_block);
  const size_t per_group = sizeof(*JpegBatch::sums) + sizeof(*JpegBatch::group_start);
  return g.subsequences * per_subsequence + g.groups * per_group + g.chunks * sizeof(JpegChunk) +
         g.sync_blocks * sizeof(*JpegBatch::entries) + g.plane_bytes;
}

cudaError_t EnqueueJpegSteps(const JpegImages& images, std::byte* scratch, cudaStream_t stream,
                             const cudaEvent_t* events, JpegDecoded& decoded) {
  JpegTotals totals;
  for (int32_t i = 0; i < images.count; ++i) {
    const int32_t row = images.host_rows[i];
    totals.Add(GeometryOf(images.host_descriptors[row], images.host_pixels[row].region));
  }
  JpegBatch batch = PlanScratch(totals, scratch);
  decoded = {.planes = batch.planes, .end = scratch + batch.bytes};
  if (images.count == 0) return cudaSuccess;
  batch.count = images.count;
  batch.rows = images.rows;
  batch.descriptors = images.descriptors;
  batch.files = images.files;
  batch.pixels = images.pixels;
  batch.status = images.status;
  const auto launch = [&](int step) {
    switch (step) {
      case 0:
        return cudaMemsetAsync(batch.words, 0, batch.zero_bytes, stream);
      case 1:
        return LaunchJpegLayout(batch, stream);
      case 2:
        return LaunchJpegTables(batch, stream);
      case 3:
        return LaunchJpegUnstuff(batch, totals.chunks, stream);
      case 4:
        return LaunchJpegSync(batch, totals.sync_blocks, stream);
      case 5:
        return LaunchJpegFix(batch, stream);
      case 6:
        return LaunchJpegDecode(batch, totals.groups, stream);
      default:
        return LaunchJpegStatus(batch, stream);
    }
  };
  for (int step = 0; step < kJpegSteps; ++step) {
    cudaError_t error = cudaSuccess;
    if (events != nullptr) error = cudaEventRecord(events[step], stream);
    if (error == cudaSuccess) error = launch(step);
    if (error != cudaSuccess) return error;
  }
  return events == nullptr ? cudaSuccess : cudaEventRecord(events[kJpegSteps], stream);
}

cudaError_t EnqueueJpegPlanes(const JpegImages& images, std::byte* scratch, cudaStream_t stream,
                              JpegDecoded& decoded) {
  return EnqueueJpegSteps(images, scratch, stream, nullptr, decoded);
}

}  // namespace penstock
