// Finds the state at the end of each subsequence. Each is decoded from a guess; where the state at
// an end is not what the next one began with, that is decoded again, and so on until states agree:
// after a few hundred bits they nearly always do, whatever the guess. A block works on
// kSyncOwned subsequences, and on a few before them to come in step. Chains that are longer than a
// few passes, and borders between blocks, are left to the next kernel.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = kSyncThreads;
constexpr int kPerThread = kSyncPerThread;
constexpr int kSubsequences = kThreads * kPerThread;  // Of a block, with those to warm up.
// Passes over the ends; what is still going on then is left to the next kernel.
constexpr int kPasses = 5;
// Staged words: row k has the k-th word of every subsequence, so that lanes meet no bank conflict.
constexpr int kRow = kSubsequences + 1;
constexpr int kBlocksPerProcessor = 1024 / kThreads;
// What is read behind the last subsequence.
constexpr int kLookAhead = 3;

struct Shared {
  uint32_t tables[kSyncTableWords];
  uint32_t states[kSubsequences];
  uint32_t pending[kThreads];
  uint32_t words[kRow * kSubsequenceWords];
};

// The part of an image's subsequences that a block works on. `first` is the one that it begins
// with, `owned` the first that is its own.
struct Span {
  const uint32_t* contents;
  int first, count, owned;
  bool has_gaps;
  int last_words;  // Of the image's last subsequence.

  // Words of subsequence j of the span. Without restart markers all but the last are full.
  __device__ int words(int j) const {
    if (has_gaps) return WordsOf(contents[first + j]);
    return j + 1 < count ? static_cast<int>(kSubsequenceWords) : last_words;
  }
};

// A chain that has come to subsequence `at` of the span with `state`.
struct Chain {
  int at;
  uint32_t state;
  __device__ uint32_t Pack() const { return static_cast<uint32_t>(at) << 16 | state; }
  __device__ static Chain Unpack(uint32_t packed) {
    return {static_cast<int>(packed >> 16), packed & kStateMask};
  }
};

__device__ uint32_t Follow(const Shared& shared, const Span& span, int j, uint32_t state,
                           const SyncTables& tables) {
  const int words = span.words(j);
  return FollowSubsequence({shared.words + j, kRow, 1 - words * kRow}, words, state, tables);
}

__device__ void Stage(const uint32_t* words, int subsequences, Shared& shared) {
  const int count = subsequences * static_cast<int>(kSubsequenceWords) + kLookAhead;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    shared.words[i % kSubsequenceWords * kRow + i / kSubsequenceWords] = words[i];
  }
}

__device__ void LoadTables(const JpegTables& tables, Shared& shared) {
  const auto* from = reinterpret_cast<const uint4*>(tables.sync);
  for (uint32_t i = threadIdx.x; i < kSyncTableWords / 4; i += kThreads) {
    reinterpret_cast<uint4*>(shared.tables)[i] = from[i];
  }
}

// Follows the chain over up to kPerThread subsequences, until the state at an end is what has been
// found there before. False if it has ended.
__device__ bool Advance(const Span& span, const SyncTables& tables, Shared& shared, Chain& chain) {
  const int end = min(chain.at + kPerThread, span.count);
  bool active = true;
#pragma unroll 1
  while (active && chain.at < end) {
    const uint32_t result = Follow(shared, span, chain.at, chain.state, tables);
    chain.state = result & kStateMask;
    active = (shared.states[chain.at] & kStateMask) != chain.state;
    shared.states[chain.at] = result;
    ++chain.at;
  }
  return active && chain.at < span.count;
}

// The threads' active chains to the first threads. Returns whether this thread has one then;
// `count` is how many there are.
__device__ bool Compact(bool active, uint32_t* counters, int pass, Shared& shared, Chain& chain,
                        uint32_t& count) {
  const uint32_t ballot = __ballot_sync(kAllLanes, active);
  if (ballot != 0) {
    uint32_t place = 0;
    if (Lane() == 0) place = atomicAdd(&counters[pass & 1], __popc(ballot));
    place = __shfl_sync(kAllLanes, place, 0) + __popc(ballot & ((1U << Lane()) - 1));
    if (active) shared.pending[place] = chain.Pack();
  }
  __syncthreads();
  count = counters[pass & 1];
  if (threadIdx.x == 0) counters[(pass + 1) & 1] = 0;
  if (threadIdx.x >= count) return false;
  chain = Chain::Unpack(shared.pending[threadIdx.x]);
  return true;
}

// States of the span, each following from the one before unless a chain is left there. Returns
// whether this thread has one left.
__device__ bool Synchronise(const Span& span, const SyncTables& tables, uint32_t* counters,
                            Shared& shared, Chain& chain) {
  const int begin = static_cast<int>(threadIdx.x) * kPerThread;
  chain = {begin + kPerThread, 0};
#pragma unroll 1
  for (int j = begin; j < min(begin + kPerThread, span.count); ++j) {
    const uint32_t result = Follow(shared, span, j, chain.state, tables);
    shared.states[j] = result;
    chain.state = result & kStateMask;
  }
  bool active = chain.at < span.count;
  __syncthreads();
  for (int pass = 0;;) {
    if (active) active = Advance(span, tables, shared, chain);
    uint32_t count;
    active = Compact(active, counters, pass, shared, chain, count);
    if (count == 0 || ++pass == kPasses) return active;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor) SyncKernel(JpegBatch batch) {
  extern __shared__ uint4 dynamic_shared[];
  Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared);
  __shared__ uint32_t counters[2];
  const int i = FindOwner(batch.first_sync_block, batch.count, blockIdx.x);
  const JpegImage& image = batch.images[i];
  const int used = static_cast<int>(batch.used[i]);
  const int owned = static_cast<int>((blockIdx.x - image.first_sync_block) * kSyncOwned);
  if (owned >= used) return;
  const size_t base = image.first_subsequence;
  Span span;
  span.contents = batch.contents + base;
  span.first = max(0, owned - kSyncWarmUpThreads * kPerThread);
  span.owned = owned - span.first;
  span.count = min(used, owned + static_cast<int>(kSyncOwned)) - span.first;
  span.has_gaps = image.geometry.segments > 1;
  span.last_words = WordsOf(span.contents[span.first + span.count - 1]);

  const uint32_t set = batch.tables_of[i];
  LoadTables(batch.tables[set], shared);
  if (threadIdx.x < 2) counters[threadIdx.x] = 0;
  Stage(batch.words + (base + span.first) * kSubsequenceWords, span.count, shared);
  __syncthreads();
  const SyncTables tables{shared.tables, batch.canonical + 4 * size_t{set}, image.pair_mask,
                          image.period};
  Chain chain;
  const bool is_left = Synchronise(span, tables, counters, shared, chain);

  for (int j = span.owned + static_cast<int>(threadIdx.x); j < span.count; j += kThreads) {
    batch.states[base + span.first + j] = shared.states[j];
  }
  uint32_t& entry = batch.entries[blockIdx.x];
  if (threadIdx.x == 0) entry = owned > 0 ? shared.states[span.owned - 1] & kStateMask : 0;
  __syncthreads();
  if (!is_left) return;
  if (chain.at > span.owned) {
    const uint32_t place = atomicAdd(&batch.pending_count[i], 1U);
    batch.pending[base + place] = {static_cast<uint32_t>(span.first + chain.at), chain.state};
  } else if (chain.at == span.owned) {
    entry = ~0U;  // No state: the next kernel begins here anew.
  }
}

}  // namespace

cudaError_t LaunchJpegSync(const JpegBatch& batch, uint64_t blocks, cudaStream_t stream) {
  // More than 48 KiB have to be asked for, on each device; asking again costs next to nothing.
  const cudaError_t error =
      cudaFuncSetAttribute(SyncKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  if (error != cudaSuccess) return error;
  SyncKernel<<<static_cast<unsigned>(blocks), kThreads, sizeof(Shared), stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
