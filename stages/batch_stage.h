// The contract of a stage that works on a whole batch before upload (mixing, say).
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "penstock/memory/batch.h"
#include "penstock/stages/random.h"

namespace penstock {

// In place on the rows of a batch in its slab. Process is const and may run for several batches at
// once. Its draws are keyed by (seed, epoch, sequence, rank, random_key), so they, and only they,
// depend on batch size and world. A graph with one runs its sample stages on the host.
class BatchStage {
 public:
  virtual ~BatchStage() = default;
  virtual absl::Status Init(const google::protobuf::Message& options) = 0;
  virtual absl::Status Process(HostBatch& batch, Random& random) const = 0;
};

// What authors derive from.
template <class OptionsT>
class TypedBatchStage : public BatchStage {
 public:
  using Options = OptionsT;
  absl::Status Init(const google::protobuf::Message& options) final {
    options_ = static_cast<const Options&>(options);
    return Init();
  }

 protected:
  virtual absl::Status Init() { return absl::OkStatus(); }
  const Options& options() const { return options_; }

 private:
  Options options_;
};

}  // namespace penstock
