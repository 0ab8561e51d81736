// The CUDA form of gathering rows as they are.
#include <cstring>

#include "penstock/memory/cuda_device.h"
#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/cache/gather_rows_kernel.h"
#include "penstock/stages/gather_stage.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

// Each byte is read and written once.
class GatherRowsCuda final : public GatherForm<DeviceKind::kCuda> {
 public:
  size_t entry_bytes() const override { return sizeof(GatherRowEntry); }

  absl::Status Prepare(absl::Span<const FieldSpec> specs) override {
    row_bytes_ = specs.front().bytes();
    return absl::OkStatus();
  }

  void Pack(absl::Span<const uint64_t> addresses, const ParamRows&,
            std::byte* entries) const override {
    for (const uint64_t address : addresses) {
      const GatherRowEntry entry = {address, 0};
      std::memcpy(entries, &entry, sizeof entry);
      entries += sizeof entry;
    }
  }

  absl::Status Enqueue(const GatherCall& call) const override {
    const CudaScope scope = static_cast<CudaDevice&>(call.device).Enter();
    PENSTOCK_RETURN_IF_ERROR(scope.status());
    return CudaStatus(LaunchGatherRows(LaunchOf<GatherRowEntry>(call), row_bytes_,
                                       static_cast<cudaStream_t>(call.stream.handle())),
                      "the gather of rows");
  }

 private:
  int64_t row_bytes_ = 0;
};

const StageRegistration<GatherRowsCuda> kCudaForm;

}  // namespace
}  // namespace penstock
