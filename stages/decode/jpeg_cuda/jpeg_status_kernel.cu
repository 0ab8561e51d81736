// Last of all: what was found of each image, for the caller and for those who read the planes.
#include "penstock/stages/decode/jpeg_cuda/jpeg_device.cuh"

namespace penstock {
namespace {

constexpr int kThreads = 256;

__global__ void StatusKernel(JpegBatch batch) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
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

cudaError_t LaunchJpegStatus(const JpegBatch& batch, cudaStream_t stream) {
  const int blocks = (batch.count + kThreads - 1) / kThreads;
  StatusKernel<<<blocks, kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

}  // namespace penstock
