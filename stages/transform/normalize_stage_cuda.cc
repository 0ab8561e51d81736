#include "penstock/stages/transform/normalize_stage_cuda.h"

#include <algorithm>
#include <cstdint>

#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/transform/normalize_kernel.h"

namespace penstock {
namespace {

const StageRegistration<NormalizeCuda> kCudaForm;

}  // namespace

absl::Status NormalizeCuda::Enqueue(const DeviceCall& call) const {
  if (call.count == 0) return absl::OkStatus();
  const NormalizeTable& table = host<0>().table();
  uint32_t bits[NormalizeTable::kMaxChannels][256];
  for (int c = 0; c < NormalizeTable::kMaxChannels; ++c) {
    std::copy(table.bits[c].begin(), table.bits[c].end(), bits[c]);
  }
  // All rows of a batch have one shape.
  const FieldView& first = call.in().host[call.rows.host[0]];
  const NormalizeWork work = {.rows = call.rows.device,
                              .count = call.count,
                              .in = call.in().device,
                              .out = call.out().device,
                              .pixels = first.region.area(),
                              .channels = first.channels,
                              .planar = table.planar,
                              .item_bytes = static_cast<int>(ItemBytes(table.dtype)),
                              .bits = bits};
  const CudaScope scope = static_cast<CudaDevice&>(call.device).Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(LaunchNormalize(work, static_cast<cudaStream_t>(call.stream.handle())),
                    "Normalize");
}

}  // namespace penstock
