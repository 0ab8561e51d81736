// Stages for tests of planner, scheduler and pipeline: each is as small as its contract allows.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "penstock/stages/batch_stage.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/sample_stage.h"
#include "penstock/stages/source.h"
#include "penstock/tests/testing/fake_image.h"
#include "penstock/tests/testing/fake_stages.pb.h"

namespace penstock::testing {

class ReadFakeSource final : public TypedSource<ReadFake> {
 public:
  std::optional<int64_t> size() const override { return options().count(); }
  SampleSpec fields() const override;
  std::string key(int64_t id) const override { return std::to_string(id) + ".fake"; }
  Extent Locate(int64_t id) const override;
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext& context) const override;

 protected:
  absl::Status Init() override;
};

// A pushed, unlabelled, unbounded source. A test holds the queue; the source looks at it.
class PushQueue {
 public:
  void Push(std::string bytes);
  void Close();
  int64_t released() const;

 private:
  friend class ReadPushedSource;
  void Notify();
  mutable std::mutex mutex_;
  std::deque<std::string> samples_;  // Never moved: spans of them are handed out.
  bool closed_ = false;
  int64_t released_ = 0;
  std::mutex listener_mutex_;
  std::function<void()> listener_;
};

class ReadPushedSource final : public TypedSource<ReadPushed, UnboundedSource> {
 public:
  explicit ReadPushedSource(std::shared_ptr<PushQueue> queue) : queue_(std::move(queue)) {}
  SampleSpec fields() const override { return {{FieldSpec::Encoded("image")}}; }
  std::string key(int64_t id) const override { return "pushed " + std::to_string(id); }
  Extent Locate(int64_t id) const override;
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext& context) const override;
  int64_t arrived() const override;
  bool closed() const override;
  void Close() override { queue_->Close(); }
  void SetListener(std::function<void()> listener) override;
  void Release(int64_t id) const override;

 protected:
  absl::Status Init() override { return absl::OkStatus(); }

 private:
  std::shared_ptr<PushQueue> queue_;
};

class DecodeFakeStage final : public FieldStage<DecodeFake> {
 public:
  absl::Status Infer(FieldSpec& field) const override;
  Place place() const override;
  size_t scratch_a_line() const { return static_cast<size_t>(options().scratch_a_line()); }
  size_t scratch_a_line_above() const {
    return static_cast<size_t>(options().scratch_a_line_above());
  }
  absl::Status Probe(const FieldView& encoded, ImageSize& size) const override;
  // Its input is no image: an empty region says that any part of the output can be made alone.
  std::optional<Region> InputRegion(const NoParams&, const Region&) const override {
    return Region{};
  }
  absl::Status Process(const NoParams&, const FieldView& in, const FieldView& out,
                       SampleContext&) const override;
};

// What the device's decoders of a test do. Thread-safe but for `on_kernel`, which is set before.
class FakeDecoderLog {
 public:
  // Runs in each kernel, on its stream's thread.
  std::function<void()> on_kernel;
  void Add(int rows);
  std::vector<int> rows_by_call() const;  // In order of the calls.

 private:
  mutable std::mutex mutex_;
  std::vector<int> rows_by_call_;
};

// The other one of the pair of forms: leaves rubbish of damaged images, and of its scratch memory.
class DecodeFakeSim final : public DeviceForm<DeviceKind::kSim, DecodeFakeStage> {
 public:
  using DeviceForm::DeviceForm;
  size_t scratch_bytes(int64_t batch) const override;
  size_t row_scratch_bytes(const RowShape& row) const override;
  size_t descriptor_bytes() const override { return 16; }
  bool reports_status() const override { return true; }
  bool Describe(const FieldView& encoded, ImageSize size, std::byte* descriptor) const override;
  absl::Status Enqueue(const DeviceCall& call) const override;

  // Of all decoders from now on; null: none.
  inline static std::atomic<FakeDecoderLog*> log = nullptr;

 private:
  void DecodeRow(int32_t row, const DeviceCall& call) const;
};

struct Offset {
  int32_t y = 0, x = 0;
};

class CropFakeStage final : public RandomFieldStage<CropFake, Offset> {
 public:
  absl::Status Init() override;
  absl::Status Infer(FieldSpec& field) const override;
  absl::StatusOr<Offset> Resolve(ImageSize& size, Random& random) const override;
  std::optional<Region> InputRegion(const Offset& offset, const Region& out) const override {
    return Region{out.y + offset.y, out.x + offset.x, out.height, out.width};
  }
  absl::Status Process(const Offset& offset, const FieldView& in, const FieldView& out,
                       SampleContext&) const override;
};

class AddToBatchStage final : public TypedBatchStage<AddToBatch> {
 public:
  absl::Status Process(HostBatch& batch, Random& random) const override;
};

// The default registry's stages and those above (the Sim forms of the fake ones too); `queue` feeds
// ReadPushed, if given.
Registry MakeTestRegistry(const std::shared_ptr<PushQueue>& queue = nullptr);

}  // namespace penstock::testing
