// A source that takes for ever to find its samples: google.protobuf.Empty in a graph.
#include "absl/time/clock.h"
#include "google/protobuf/empty.pb.h"
#include "penstock/stages/registry.h"
#include "penstock/stages/source.h"

namespace penstock {
namespace {

class SlowSource final : public TypedSource<google::protobuf::Empty> {
 public:
  absl::Status Init() override {
    absl::SleepFor(absl::InfiniteDuration());
    return absl::OkStatus();
  }
  std::optional<int64_t> size() const override { return 0; }
  SampleSpec fields() const override { return {}; }
  std::string key(int64_t) const override { return ""; }
  Extent Locate(int64_t) const override { return {}; }
  absl::Status Finish(absl::Span<const std::byte>, Sample&, SampleContext&) const override {
    return absl::OkStatus();
  }
};

const StageRegistration<SlowSource> kRegistration;

}  // namespace
}  // namespace penstock
