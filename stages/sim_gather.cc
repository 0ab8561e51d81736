#include "penstock/stages/sim_gather.h"

#include <utility>

#include "penstock/memory/status_macros.h"

namespace penstock {

struct SimGatherBodies::Worker {
  std::vector<std::unique_ptr<WorkerState>> states;
  Scratch between[2], context;
};

SimGatherBodies::SimGatherBodies(std::vector<const SampleStage*> stages)
    : stages_(std::move(stages)) {
  for (const SampleStage* stage : stages_) {
    params_at_.push_back(entry_bytes_);
    entry_bytes_ += stage->params_bytes();
  }
}

void SimGatherBodies::Prepare(absl::Span<const FieldSpec> specs) {
  views_.clear();
  for (const FieldSpec& spec : specs) views_.push_back(WholeView(spec, nullptr));
}

void SimGatherBodies::Pack(absl::Span<const uint64_t> addresses, const ParamRows& params,
                           std::byte* entries) const {
  for (size_t row = 0; row < addresses.size(); ++row, entries += entry_bytes_) {
    std::memcpy(entries, &addresses[row], sizeof(uint64_t));
    for (size_t i = 0; i < stages_.size(); ++i) {
      std::memcpy(entries + params_at_[i], params.first + row * params.stride + params.offsets[i],
                  stages_[i]->params_bytes());
    }
  }
}

absl::Status SimGatherBodies::Enqueue(const GatherCall& call) const {
  auto& sim = static_cast<SimDevice&>(call.device);
  struct Batch {
    GatherBatch rows;
    std::vector<Carry> carries;
  };
  std::vector<Batch> batches;
  for (const GatherBatch& rows : call.batches) {
    batches.push_back({rows, {rows.carries.begin(), rows.carries.end()}});
  }
  return sim.Launch(call.stream, [this, &sim, batches = std::move(batches)] {
    Worker worker;
    for (const SampleStage* stage : stages_) worker.states.push_back(stage->MakeWorkerState());
    for (const Batch& batch : batches) {
      for (int32_t row = 0; row < batch.rows.count; ++row) {
        absl::Status status = RunRow(batch.rows.entries + row * entry_bytes_,
                                     batch.rows.out + row * views_.back().bytes, worker);
        if (!status.ok()) return sim.Fail(std::move(status));
      }
      for (const Carry& carry : batch.carries) std::memcpy(carry.to, carry.from, carry.bytes);
    }
  });
}

absl::Status SimGatherBodies::RunRow(const std::byte* entry, std::byte* out, Worker& worker) const {
  FieldView in = views_.front();
  std::memcpy(&in.address, entry, sizeof in.address);
  if (stages_.empty()) std::memcpy(out, in.data(), in.bytes);
  for (size_t i = 0; i < stages_.size(); ++i) {
    FieldView to = views_[i + 1];
    std::byte* const place = i + 1 < stages_.size() ? worker.between[i % 2].Get(to.bytes) : out;
    to.address = reinterpret_cast<uint64_t>(place);
    SampleContext context(worker.states[i].get(), &worker.context);
    PENSTOCK_RETURN_IF_ERROR(stages_[i]->Process(entry + params_at_[i], in, to, context));
    in = to;
  }
  return absl::OkStatus();
}

}  // namespace penstock
