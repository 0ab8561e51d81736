// The source of penstock.bench.ReadIdle; see idle_source.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "penstock/stages/source.h"
#include "penstock/tests/bench/idle_source.pb.h"

namespace penstock::bench {

class IdleSource final : public TypedSource<ReadIdle> {
 public:
  std::optional<int64_t> size() const override { return options().count(); }
  SampleSpec fields() const override {
    return {{FieldSpec::Image("image", {options().side(), options().side()})}};
  }
  std::string key(int64_t id) const override { return absl::StrCat(id); }
  Extent Locate(int64_t) const override {
    Extent extent;
    extent.memory = absl::MakeSpan(&nothing_, 1);
    return extent;
  }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }

 protected:
  absl::Status Init() override { return absl::OkStatus(); }

 private:
  std::byte nothing_{};
};

}  // namespace penstock::bench
