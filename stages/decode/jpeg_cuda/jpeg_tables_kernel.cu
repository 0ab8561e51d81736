// Look-up tables from the Huffman tables in the files, and the quantisation tables. Four blocks an
// image, one a kind of table; images whose tables are equal share those of one of them.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

using namespace jpeg_device;

constexpr int kThreads = 256;
constexpr int kHuffmanTables = 4;

// The file's bytes from `offset` on.
__device__ const uint8_t* At(uint64_t file, uint32_t offset) {
  return reinterpret_cast<const uint8_t*>(file + offset);
}

// Loads a table as one warp.
__device__ void LoadTable(const uint8_t* from, HuffmanTable& table) {
  const uint32_t count = Lane() < 16 ? from[Lane()] : 0;
  if (Lane() < 16) table.counts[Lane()] = static_cast<uint8_t>(count);
  const int values = min(static_cast<int>(WarpSum(count)), 256);
  for (int i = Lane(); i < 256; i += kWarp) table.values[i] = i < values ? from[16 + i] : 0;
}

__device__ bool IsEqual(const uint8_t* file_table, const HuffmanTable& table) {
  bool equal = Lane() >= 16 || file_table[Lane()] == table.counts[Lane()];
  equal = __all_sync(kAllLanes, equal);
  if (!equal) return false;
  const uint32_t count = Lane() < 16 ? table.counts[Lane()] : 0;
  const int values = min(static_cast<int>(WarpSum(count)), 256);
  for (int i = Lane(); i < values; i += kWarp) equal &= file_table[16 + i] == table.values[i];
  return __all_sync(kAllLanes, equal);
}

// Column by column, as the inverse transform reads them.
__device__ void WriteQuantisation(const JpegDescriptor& d, uint64_t file, uint16_t* out) {
  for (int i = threadIdx.x; i < kQuantisationItems; i += kThreads) {
    const int c = i / 64, k = i % 64;
    if (c >= d.components) break;
    const uint8_t* table = At(file, d.quantisation[c]);
    const bool is_wide = (d.wide_tables >> c & 1) != 0;
    const uint32_t value = is_wide ? table[2 * k] << 8 | table[2 * k + 1] : table[k];
    out[c * 64 + kZigzagToColumns[k]] = static_cast<uint16_t>(value);
  }
}

// All look-up tables of one kind.
__device__ void WriteTables(const HuffmanTable (&tables)[kHuffmanTables], int kind, JpegTables& out,
                            CanonicalTable& canonical) {
  const HuffmanTable &table = tables[kind], &ac = tables[kind | 1];
  const bool is_ac = (kind & 1) != 0;
  for (int i = threadIdx.x; i < kSyncIndices; i += kThreads) {
    out.sync[kind][i] = TableEntry(table, is_ac, ac, i, kSyncIndexBits) & kSyncEntryMask;
  }
  for (int i = threadIdx.x; i < kDecodeIndices; i += kThreads) {
    out.decode[kind][i] = TableEntry(table, is_ac, ac, i, kDecodeIndexBits);
  }
  for (int i = threadIdx.x; is_ac && i < kSyncLongCodes; i += kThreads) {
    out.sync_long[kind / 2][i] = LongEntry(table, 0x10000 - kSyncLongCodes + i);
  }
  for (int i = threadIdx.x; is_ac && i < kDecodeLongCodes; i += kThreads) {
    out.decode_long[kind / 2][i] = LongEntry(table, 0x10000 - kDecodeLongCodes + i);
  }
  if (threadIdx.x == 0) MakeCanonical(table, canonical);
  for (int i = threadIdx.x; i < 256; i += kThreads) canonical.values[i] = table.values[i];
}

__global__ void __launch_bounds__(kThreads) TablesKernel(JpegBatch batch) {
  __shared__ HuffmanTable tables[kHuffmanTables];
  const int i = static_cast<int>(blockIdx.x) / kHuffmanTables;
  const int kind = static_cast<int>(blockIdx.x) % kHuffmanTables;
  const JpegImage& image = batch.images[i];
  const JpegDescriptor& d = batch.descriptors[batch.rows[i]];
  if (kind == 0)
    WriteQuantisation(d, image.file, batch.quantisation + size_t{1} * i * kQuantisationItems);
  if (Warp() < kHuffmanTables) LoadTable(At(image.file, d.huffman[Warp()]), tables[Warp()]);
  __syncthreads();
  const int other = static_cast<int>(image.equal_image);
  bool is_equal = other != i;
  if (is_equal && Warp() < kHuffmanTables) {
    const JpegDescriptor& e = batch.descriptors[batch.rows[other]];
    is_equal = IsEqual(At(batch.images[other].file, e.huffman[Warp()]), tables[Warp()]);
  }
  is_equal = __syncthreads_and(is_equal) != 0;
  if (threadIdx.x == 0 && kind == 0) batch.tables_of[i] = is_equal ? other : i;
  if (is_equal) return;
  WriteTables(tables, kind, batch.tables[i], batch.canonical[kHuffmanTables * i + kind]);
}

}  // namespace

cudaError_t LaunchJpegTables(const JpegBatch& batch, cudaStream_t stream) {
  TablesKernel<<<batch.count * kHuffmanTables, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
