// SimGather: the host bodies of a sequence of stages as a gather form on a SimDevice.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "penstock/memory/sim_device.h"
#include "penstock/stages/gather_stage.h"

namespace penstock {

// What SimGather<...> does, whatever its stages are. An entry is the row's address, then the Params
// of each stage.
class SimGatherBodies {
 public:
  explicit SimGatherBodies(std::vector<const SampleStage*> stages);
  size_t entry_bytes() const { return entry_bytes_; }
  void Prepare(absl::Span<const FieldSpec> specs);
  void Pack(absl::Span<const uint64_t> addresses, const ParamRows& params,
            std::byte* entries) const;
  absl::Status Enqueue(const GatherCall& call) const;

 private:
  struct Worker;
  absl::Status RunRow(const std::byte* entry, std::byte* out, Worker& worker) const;

  std::vector<const SampleStage*> stages_;
  std::vector<size_t> params_at_;  // By stage, in an entry.
  size_t entry_bytes_ = 16;        // The address, padded.
  std::vector<FieldView> views_;   // By boundary: one whole sample, without an address.
};

// The reference that a kernel is tested against. A body that fails makes the device fail, as a
// faulting kernel would.
template <class... Host>
class SimGather final : public GatherForm<DeviceKind::kSim, Host...> {
 public:
  explicit SimGather(const Host&... host)
      : GatherForm<DeviceKind::kSim, Host...>(host...),
        bodies_(std::vector<const SampleStage*>{&host...}) {}

  size_t entry_bytes() const override { return bodies_.entry_bytes(); }
  absl::Status Prepare(absl::Span<const FieldSpec> specs) override {
    bodies_.Prepare(specs);
    return absl::OkStatus();
  }
  void Pack(absl::Span<const uint64_t> addresses, const ParamRows& params,
            std::byte* entries) const override {
    bodies_.Pack(addresses, params, entries);
  }
  absl::Status Enqueue(const GatherCall& call) const override { return bodies_.Enqueue(call); }

 private:
  SimGatherBodies bodies_;
};

}  // namespace penstock
