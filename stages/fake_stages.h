// Small stages for tests of the contracts. Their options are messages that every protobuf has.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/wrappers.pb.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

struct FakeSize {
  ImageSize in;
};

// Adds `value` to each item; 0 is the identity. Counts what it does.
class FakeAdd final : public FieldStage<google::protobuf::Int32Value> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  std::optional<Region> InputRegion(const NoParams&, const Region& out) const override {
    return out;
  }
  bool IsIdentity(const NoParams&) const override { return options().value() == 0; }
  absl::Status Process(const NoParams&, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    ++runs;
    const Region& part = out.region;
    for (int y = part.y; y < part.y + part.height; ++y) {
      for (int x = part.x; x < part.x + part.width; ++x) {
        for (int c = 0; c < out.channels; ++c) {
          out.at(y, x)[c] = static_cast<uint8_t>(in.at(y, x)[c] + options().value());
        }
      }
    }
    return absl::OkStatus();
  }
  inline static int runs = 0;
};

// Cuts `value` pixels off on all sides. Fails in Resolve where nothing would be left.
class FakeTrim final : public FieldStage<google::protobuf::UInt32Value> {
 public:
  absl::Status Infer(FieldSpec& field) const override {
    if (field.fixed()) field.set_size(Trimmed(field.size()));
    return absl::OkStatus();
  }
  absl::StatusOr<NoParams> Resolve(ImageSize& size) const override {
    size = Trimmed(size);
    if (size.height > 0 && size.width > 0) return NoParams{};
    return absl::OutOfRangeError("nothing is left");
  }
  std::optional<Region> InputRegion(const NoParams&, const Region& out) const override {
    return Region{out.y + margin(), out.x + margin(), out.height, out.width};
  }
  absl::Status Process(const NoParams&, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    const Region& part = out.region;
    for (int y = part.y; y < part.y + part.height; ++y) {
      std::memcpy(out.at(y, part.x), in.at(y + margin(), part.x + margin()),
                  static_cast<size_t>(part.width) * out.channels);
    }
    return absl::OkStatus();
  }

 private:
  int32_t margin() const { return static_cast<int32_t>(options().value()); }
  ImageSize Trimmed(ImageSize size) const {
    return {size.height - 2 * margin(), size.width - 2 * margin()};
  }
};

// Turns an image upside down without saying which region it needs: it gets and writes it whole.
class FakeTurn final : public FieldStage<google::protobuf::BoolValue, FakeSize> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::StatusOr<FakeSize> Resolve(ImageSize& size) const override { return FakeSize{size}; }
  absl::Status Process(const FakeSize& params, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    const Region whole = Region::Whole(params.in);
    if (in.region != whole || out.region != whole) return absl::InternalError("not whole");
    for (int y = 0; y < whole.height; ++y) {
      std::memcpy(out.at(whole.height - 1 - y, 0), in.at(y, 0),
                  static_cast<size_t>(whole.width) * out.channels);
    }
    return absl::OkStatus();
  }
};

// Asks for `value` pixels more than it gets on all sides, and then copies.
class FakeReach final : public FieldStage<google::protobuf::Int64Value> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  std::optional<Region> InputRegion(const NoParams&, const Region& out) const override {
    const auto more = static_cast<int32_t>(options().value());
    return Region{out.y - more, out.x - more, out.height + 2 * more, out.width + 2 * more};
  }
  absl::Status Process(const NoParams&, const FieldView& in, const FieldView& out,
                       SampleContext&) const override {
    const Region& part = out.region;
    for (int y = part.y; y < part.y + part.height; ++y) {
      std::memcpy(out.at(y, part.x), in.at(y, part.x),
                  static_cast<size_t>(part.width) * out.channels);
    }
    return absl::OkStatus();
  }
};

struct FakeDraw {
  uint32_t bits;
};

// Draws once a sample.
class FakeRandom final : public RandomFieldStage<google::protobuf::FloatValue, FakeDraw> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::StatusOr<FakeDraw> Resolve(ImageSize&, Random& random) const override {
    return FakeDraw{random.Bits()};
  }
  std::optional<Region> InputRegion(const FakeDraw&, const Region& out) const override {
    return out;
  }
  bool IsIdentity(const FakeDraw&) const override { return true; }
  absl::Status Process(const FakeDraw&, const FieldView&, const FieldView&,
                       SampleContext&) const override {
    return absl::InternalError("the identity was not left out");
  }
};

// Fails in Process.
class FakeFault final : public FieldStage<google::protobuf::StringValue> {
 public:
  absl::Status Infer(FieldSpec&) const override { return absl::OkStatus(); }
  absl::Status Process(const NoParams&, const FieldView&, const FieldView&,
                       SampleContext&) const override {
    return absl::DataLossError(options().value());
  }
};

}  // namespace penstock
