// A block an image: follows the chains that are left, and those that begin where two blocks of the
// kernel before do not agree. Then counts the blocks of coefficients, so that each subsequence
// knows in which one it begins, and each group of blocks in which subsequence. Sees what is missing
// of the data.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kPerThread = 4;
// Empty subsequences between two segments are no more than this.
constexpr uint32_t kMostEmpty = 3;

// The image's part of the batch's arrays.
struct View {
  const JpegImage& image;
  uint32_t used;
  const uint32_t* contents;
  const uint32_t* words;
  volatile uint32_t* states;
  volatile JpegPending* pending;
};

// Adds chains for the borders where a block began with another state than the one before it left.
__device__ void AddBorders(const View& view, const uint32_t* entries, uint32_t& count) {
  const uint32_t blocks = (view.used + kSyncOwned - 1) / kSyncOwned;
  for (uint32_t b = 1 + threadIdx.x; b < blocks; b += kThreads) {
    const uint32_t state = view.states[b * kSyncOwned - 1] & kStateMask;
    if (state == entries[b]) continue;
    volatile JpegPending& chain = view.pending[atomicAdd(&count, 1U)];
    chain.subsequence = b * kSyncOwned;
    chain.state = state;
  }
}

// Follows all chains, a thread each. One whose beginning another has changed is dropped: the other
// has passed there.
__device__ void FollowChains(const View& view, const SyncTables& tables, uint32_t count) {
  for (uint32_t base = 0; base < count; base += kThreads) {
    const uint32_t k = base + threadIdx.x;
    uint32_t at = kNoSubsequence, state = 0;
    if (k < count) {
      at = view.pending[k].subsequence;
      state = view.pending[k].state;
      if (at >= view.used || (view.states[at - 1] & kStateMask) != state) at = kNoSubsequence;
    }
    __syncthreads();
    for (uint32_t step = 0; step <= view.used; ++step) {
      bool changed = false;
      if (at < view.used) {
        const uint32_t old = view.states[at];
        const uint32_t result =
            FollowSubsequence({view.words + size_t{at} * kSubsequenceWords, 1, 0},
                              WordsOf(view.contents[at]), state, tables);
        view.states[at] = result;
        state = result & kStateMask;
        changed = (old & kStateMask) != state;
        at = changed ? at + 1 : kNoSubsequence;
      }
      if (__syncthreads_or(changed) == 0) break;
    }
  }
}

// A count of blocks that may begin anew: with a segment, whose first block's number is known.
struct Count {
  uint32_t blocks = 0;
  bool is_anew = false;

  __device__ Count Then(const Count& next) const {
    return next.is_anew ? next : Count{blocks + next.blocks, is_anew};
  }
};

__device__ Count BelowInWarp(const Count& count, int distance) {
  return {__shfl_up_sync(kAllLanes, count.blocks, distance),
          __shfl_up_sync(kAllLanes, static_cast<int>(count.is_anew), distance) != 0};
}

// `carry` and then the counts of all threads below; `carry` becomes that of all threads.
__device__ Count ExclusiveCount(Count mine, Count& carry) {
  __shared__ uint32_t blocks[kWarps];
  __shared__ bool is_anew[kWarps];
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const Count below = BelowInWarp(mine, distance);
    if (Lane() >= distance) mine = below.Then(mine);
  }
  Count exclusive = BelowInWarp(mine, 1);
  if (Lane() == 0) exclusive = {};
  if (Lane() == kWarp - 1) {
    blocks[Warp()] = mine.blocks;
    is_anew[Warp()] = mine.is_anew;
  }
  __syncthreads();
  Count before = carry;
  for (int i = 0; i < kWarps; ++i) {
    if (i == Warp()) exclusive = before.Then(exclusive);
    before = before.Then({blocks[i], is_anew[i]});
  }
  carry = before;
  __syncthreads();
  return exclusive;
}

class Counter {
 public:
  __device__ Counter(const JpegBatch& batch, int index, const View& view)
      : batch_(batch),
        index_(index),
        view_(view),
        segment_blocks_(view.image.geometry.segment_mcus * view.image.mcu_blocks),
        group_blocks_(view.image.geometry.group_mcus * view.image.mcu_blocks),
        all_blocks_(view.image.geometry.mcus * view.image.mcu_blocks),
        group_start_(batch.group_start + view.image.first_group + index),
        first_block_(batch.first_block + view.image.first_subsequence) {}

  __device__ void Run() {
    const uint32_t groups = view_.image.geometry.groups;
    for (uint32_t g = threadIdx.x; g <= groups; g += kThreads) group_start_[g] = kNoSubsequence;
    if (threadIdx.x == 0 && (view_.used == 0 || view_.contents[0] == 0)) {
      ReportDamage(batch_, index_, 0);
    }
    __syncthreads();
    Count carry;
    for (uint32_t base = 0; base < view_.used; base += kThreads * kPerThread) {
      const uint32_t first = base + threadIdx.x * kPerThread;
      Count mine;
      for (int k = 0; k < kPerThread; ++k) mine = mine.Then(CountOf(first + k));
      Count before = ExclusiveCount(mine, carry);
      for (int k = 0; k < kPerThread && first + k < view_.used; ++k) {
        Note(first + k, before.blocks);
        before = before.Then(CountOf(first + k));
      }
    }
  }

 private:
  __device__ uint32_t Contents(uint32_t s) const { return s < view_.used ? view_.contents[s] : 0; }
  __device__ bool BeginsSegment(uint32_t s) const {
    return Contents(s) != 0 && (s == 0 || Contents(s - 1) == 0);
  }
  __device__ uint32_t SegmentStart(uint32_t s) const {
    return ContentSegment(Contents(s)) * segment_blocks_;
  }

  __device__ Count CountOf(uint32_t s) const {
    if (Contents(s) == 0) return {};
    const uint32_t ended = view_.states[s] >> kStateCountShift;
    if (!BeginsSegment(s)) return {ended, false};
    return {SegmentStart(s) + ended, true};
  }

  // Subsequence `s` begins in block `block`, unless it begins a segment.
  __device__ void Note(uint32_t s, uint32_t block) const {
    if (Contents(s) == 0) {
      first_block_[s] = 0;
      return;
    }
    const bool is_first = BeginsSegment(s);
    if (is_first) block = SegmentStart(s);
    const uint32_t segment_end = min(SegmentStart(s) + segment_blocks_, all_blocks_);
    const uint32_t last = block + (view_.states[s] >> kStateCountShift);  // It ends in this one.
    first_block_[s] = min(block, segment_end);
    // Groups whose first block begins here.
    const uint32_t groups = view_.image.geometry.groups;
    uint32_t g = is_first ? (block + group_blocks_ - 1) / group_blocks_ : block / group_blocks_ + 1;
    for (; g <= groups && g * group_blocks_ <= last && g * group_blocks_ < segment_end; ++g) {
      group_start_[g] = s;
    }
    if (Contents(s + 1) != 0) return;
    if (last < segment_end) ReportDamage(batch_, index_, last);
    CheckNextSegment(s);
  }

  // A segment ends with `s`: the next one must follow.
  __device__ void CheckNextSegment(uint32_t s) const {
    const uint32_t next = ContentSegment(Contents(s)) + 1;
    if (next >= view_.image.geometry.segments) return;
    for (uint32_t k = 2; k <= kMostEmpty + 1; ++k) {
      const uint32_t contents = Contents(s + k);
      if (contents == 0) continue;
      if (ContentSegment(contents) == next) return;
      break;
    }
    ReportDamage(batch_, index_, next * segment_blocks_);
  }

  const JpegBatch& batch_;
  const int index_;
  const View& view_;
  const uint32_t segment_blocks_, group_blocks_, all_blocks_;
  uint32_t* const group_start_;
  uint32_t* const first_block_;
};

__global__ void __launch_bounds__(kThreads) FixKernel(JpegBatch batch) {
  __shared__ uint32_t count;
  const int i = blockIdx.x;
  const JpegImage& image = batch.images[i];
  const size_t base = image.first_subsequence;
  const View view{image,
                  batch.used[i],
                  batch.contents + base,
                  batch.words + base * kSubsequenceWords,
                  batch.states + base,
                  batch.pending + base};
  if (threadIdx.x == 0) count = batch.pending_count[i];
  __syncthreads();
  AddBorders(view, batch.entries + image.first_sync_block, count);
  __syncthreads();
  const uint32_t set = batch.tables_of[i];
  const SyncTables tables{batch.tables[set].sync[0], batch.canonical + 4 * size_t{set},
                          image.pair_mask, image.period};
  FollowChains(view, tables, count);
  __syncthreads();
  Counter(batch, i, view).Run();
}

}  // namespace

cudaError_t LaunchJpegFix(const JpegBatch& batch, cudaStream_t stream) {
  FixKernel<<<batch.count, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
