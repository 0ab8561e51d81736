// The contract of a stage that works sample by sample. SampleStage is what planner and scheduler
// see; authors derive from FieldStage or RandomFieldStage and write, in this order (all but Infer
// and Process have defaults):
//
//   Init (once) -> Infer (once) -> per sample: Probe?, Resolve, InputRegion (from the last stage
//   back to the first), IsIdentity, Process
//
// Init and Infer run before any thread exists. Everything else is const and may run on several
// threads at once, also for one batch. A failure ends the sample, never the stage. Bodies neither
// block nor start threads. A stage states the cause only ("width is 3, expected at least 8"): node,
// batch and sample are put before it.
//
//   class MyCropStage final : public RandomFieldStage<my::Crop, Corner> { ... };
//   const StageRegistration<MyCropStage> kHostForm;
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "penstock/stages/random.h"
#include "penstock/stages/sample.h"
#include "penstock/stages/sample_context.h"

namespace penstock {

inline constexpr size_t kMaxParamsBytes = 64;

// Where a stage is to run. kAuto lets the planner choose.
enum class Place : uint8_t { kAuto, kHost, kDevice };

// Of rows that are settled together: the error of the first one that has one, and its number.
struct RowsStatus {
  absl::Status status;
  size_t row = 0;
};

// Type-erased. Params are `params_bytes()` bytes, aligned to 16, in the slab's tables by row.
class SampleStage {
 public:
  virtual ~SampleStage() = default;
  virtual absl::Status Init(const google::protobuf::Message& options) = 0;
  // Changes the spec to that of this stage's output.
  virtual absl::Status Infer(SampleSpec& spec) = 0;
  virtual bool is_random() const = 0;
  virtual bool has_host_form() const = 0;
  virtual Place place() const = 0;
  virtual int field() const = 0;  // Index of the field that it changes; after Infer.
  virtual size_t params_bytes() const = 0;
  virtual absl::Status Probe(const FieldView& encoded, ImageSize& size) const = 0;
  virtual absl::Status Resolve(ImageSize& size, Random& random, std::byte* params) const = 0;
  // Resolve() for samples that all have `size` and must come to be `out`: the Params of ids[i] go
  // to params + i * stride. An error is that of the first sample that has one.
  virtual RowsStatus ResolveRows(ImageSize size, ImageSize out, const NodeDraws& draws,
                                 absl::Span<const int64_t> ids, std::byte* params,
                                 size_t stride) const = 0;
  virtual std::optional<Region> InputRegion(const std::byte* params, const Region& out) const = 0;
  virtual bool IsIdentity(const std::byte* params) const = 0;
  virtual std::unique_ptr<WorkerState> MakeWorkerState() const = 0;
  virtual absl::Status Process(const std::byte* params, const FieldView& in, const FieldView& out,
                               SampleContext& context) const = 0;
};

// For stages without numbers of their own a sample, or without state a thread.
struct NoParams {};
struct NoState {};

// The sizes of rows that must all be alike.
inline absl::Status CheckResolvedSize(ImageSize got, ImageSize want) {
  if (got == want) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the sample is ", got.height, "x", got.width,
                                                    ", but the batch collates ", want.height, "x",
                                                    want.width, " (height x width)"));
}

// What FieldStage and RandomFieldStage have in common: they turn one field (options' `field`, where
// the message has one; else "image") into its next value.
template <class OptionsT, class ParamsT, class StateT>
class FieldStageBase : public SampleStage {
  static_assert(std::is_trivially_copyable_v<ParamsT> && sizeof(ParamsT) <= kMaxParamsBytes &&
                    alignof(ParamsT) <= 16,
                "Params travel by memcpy: trivially copyable, at most 64 bytes, 16-aligned");

 public:
  using Options = OptionsT;
  using Params = ParamsT;
  using State = StateT;

  // Checks the options and makes tables. InvalidArgument names the option, its value and its range.
  virtual absl::Status Init() { return absl::OkStatus(); }
  // Turns the field's spec into that of the output. InvalidArgument: this input does not fit.
  virtual absl::Status Infer(FieldSpec& field) const = 0;
  // Reads the size from the header of an encoded field; only for stages whose input is encoded.
  absl::Status Probe(const FieldView& encoded, ImageSize& size) const override {
    (void)encoded, (void)size;
    return absl::OkStatus();
  }
  // The part of the input that `out` needs; it may reach beyond the image and is then clipped. A
  // stage that overrides this writes exactly out.region and reads only in.region. Default: it gets
  // its whole input and writes its whole output.
  virtual std::optional<Region> InputRegion(const Params& params, const Region& out) const {
    (void)params, (void)out;
    return std::nullopt;
  }
  // True if input and output are the same bytes: the stage is then left out for this sample.
  virtual bool IsIdentity(const Params& params) const {
    (void)params;
    return false;
  }
  // Writes all of out.region (out.bytes bytes) and reads in.region; never in place.
  virtual absl::Status Process(const Params& params, const FieldView& in, const FieldView& out,
                               SampleContext& context) const = 0;

  Place place() const override { return Place::kAuto; }
  bool has_host_form() const override { return true; }
  int field() const final { return field_; }

 protected:
  const Options& options() const { return options_; }

 private:
  static const Params& As(const std::byte* params) {
    if constexpr (std::is_empty_v<Params>) {  // There is no table of them to point into.
      static constexpr Params kNone{};
      return kNone;
    } else {
      return *std::launder(reinterpret_cast<const Params*>(params));
    }
  }
  absl::Status Init(const google::protobuf::Message& options) final {
    options_ = static_cast<const Options&>(options);
    return Init();
  }
  absl::Status Infer(SampleSpec& spec) final {
    std::string name = "image";
    if constexpr (requires(const Options& o) { o.field(); }) {
      if (options_.has_field()) name = options_.field();
    }
    field_ = spec.Find(name);
    if (field_ < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("field: there is no field '", name, "'; the sample has ", spec.Names()));
    }
    return Infer(spec.fields[field_]);
  }
  size_t params_bytes() const final {
    return std::is_empty_v<Params> ? 0 : (sizeof(Params) + 15) / 16 * 16;
  }
  std::optional<Region> InputRegion(const std::byte* params, const Region& out) const final {
    return InputRegion(As(params), out);
  }
  bool IsIdentity(const std::byte* params) const final { return IsIdentity(As(params)); }
  std::unique_ptr<WorkerState> MakeWorkerState() const final {
    return std::make_unique<WorkerStateOf<State>>();
  }
  absl::Status Process(const std::byte* params, const FieldView& in, const FieldView& out,
                       SampleContext& context) const final {
    return Process(As(params), in, out, context);
  }

  Options options_;
  int field_ = -1;
};

// Where the Params of many rows go, one each.
template <class Params>
class ParamsColumn {
 public:
  ParamsColumn(std::byte* first, size_t stride) : first_(first), stride_(stride) {}
  void Set(size_t row, const Params& params) const {
    if constexpr (!std::is_empty_v<Params>) new (first_ + row * stride_) Params(params);
  }

 private:
  std::byte* first_;
  size_t stride_;
};

// A stage without chance.
template <class Options, class Params = NoParams, class State = NoState>
class FieldStage : public FieldStageBase<Options, Params, State> {
 public:
  // Settles one sample: takes the size of its input, leaves that of its output, gives its Params.
  // Runs on the host for host and device forms alike.
  virtual absl::StatusOr<Params> Resolve(ImageSize& size) const {
    (void)size;
    return Params{};
  }

 private:
  bool is_random() const final { return false; }
  absl::Status Resolve(ImageSize& size, Random&, std::byte* params) const final {
    const absl::StatusOr<Params> resolved = Resolve(size);
    if (resolved.ok()) ParamsColumn<Params>(params, 0).Set(0, *resolved);
    return resolved.status();
  }
  RowsStatus ResolveRows(ImageSize size, ImageSize out, const NodeDraws&,
                         absl::Span<const int64_t> ids, std::byte* params,
                         size_t stride) const final {
    const absl::StatusOr<Params> resolved = Resolve(size);
    if (!resolved.ok()) return {resolved.status()};
    const ParamsColumn<Params> column(params, stride);
    for (size_t i = 0; i < ids.size(); ++i) column.Set(i, *resolved);
    return {CheckResolvedSize(size, out)};
  }
};

// Only this one is handed a Random: a stage cannot be random and forget to say so.
template <class Options, class Params, class State = NoState>
class RandomFieldStage : public FieldStageBase<Options, Params, State> {
 public:
  virtual absl::StatusOr<Params> Resolve(ImageSize& size, Random& random) const = 0;
  // Resolve() for each of `ids`, samples that all have `size` and must come to be `out`. A stage
  // overrides it where Resolve() does much for a sample that is the same for all of one size.
  virtual RowsStatus ResolveAll(ImageSize size, ImageSize out, const NodeDraws& draws,
                                absl::Span<const int64_t> ids, ParamsColumn<Params> params) const {
    RowsStatus result;
    draws.ForEach(ids, [&](size_t i, Random& random) {
      ImageSize resized = size;
      const absl::StatusOr<Params> resolved = Resolve(resized, random);
      result = {resolved.ok() ? CheckResolvedSize(resized, out) : resolved.status(), i};
      if (result.status.ok()) params.Set(i, *resolved);
      return result.status.ok();
    });
    return result;
  }

 private:
  bool is_random() const final { return true; }
  absl::Status Resolve(ImageSize& size, Random& random, std::byte* params) const final {
    const absl::StatusOr<Params> resolved = Resolve(size, random);
    if (resolved.ok()) ParamsColumn<Params>(params, 0).Set(0, *resolved);
    return resolved.status();
  }
  RowsStatus ResolveRows(ImageSize size, ImageSize out, const NodeDraws& draws,
                         absl::Span<const int64_t> ids, std::byte* params,
                         size_t stride) const final {
    return ResolveAll(size, out, draws, ids, {params, stride});
  }
};

}  // namespace penstock
