// The registry: which stage an options message names. Built-in and user stages are equals.
//
// A stage is registered by one object in its .cc (its target needs alwayslink = True):
//
//   const StageRegistration<DecodeImageStage> kHostForm;
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "penstock/stages/batch_stage.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/gather_stage.h"
#include "penstock/stages/plan_stage.h"
#include "penstock/stages/sample_stage.h"
#include "penstock/stages/source.h"

namespace penstock {

// Keyed by the full name of the options message ("penstock.DecodeImage"). Not thread-safe while
// stages are added, which static objects and tests do before a pipeline exists; const calls are.
// Never aborts: a name registered twice is kept as an error and returned by status().
class Registry {
 public:
  using DeviceFactory =
      std::function<std::unique_ptr<DeviceStage>(absl::Span<const SampleStage* const> host)>;

  using GatherFactory =
      std::function<std::unique_ptr<GatherStage>(absl::Span<const SampleStage* const> host)>;

  enum class Role : uint8_t { kSource, kSample, kBatch, kPlan };
  struct Entry {
    const google::protobuf::Descriptor* options = nullptr;
    Role role = Role::kSample;
    std::function<std::unique_ptr<Source>()> source;
    std::function<std::unique_ptr<SampleStage>()> sample;
    std::function<std::unique_ptr<BatchStage>()> batch;
    std::function<std::unique_ptr<PlanStage>()> plan;
  };
  struct DeviceEntry {
    DeviceKind kind;
    std::vector<std::string> sequence;  // Full names of the options messages.
    DeviceFactory make;
  };

  struct GatherEntry {
    DeviceKind kind;
    std::vector<std::string> sequence;  // May be empty: rows as they are.
    GatherFactory make;
  };

  // The one that StageRegistration fills.
  static Registry& Default();

  // A host stage, source, batch stage or plan stage, by `Stage::Options`; or a device or gather
  // form, whose sequence is its HostStages.
  template <class Stage>
  void Add();
  // A source made by `make` (to hand a test's or a program's own object to it).
  void AddSource(const google::protobuf::Descriptor* options,
                 std::function<std::unique_ptr<Source>()> make);

  // Null if no linked code registered it.
  const Entry* Find(absl::string_view full_name) const;
  // Null if there is no form for exactly this sequence.
  const DeviceEntry* FindDeviceForm(DeviceKind kind, absl::Span<const std::string> sequence) const;

  const GatherEntry* FindGatherForm(DeviceKind kind, absl::Span<const std::string> sequence) const;

  // Sorted by name.
  std::vector<const Entry*> entries() const;
  const std::vector<DeviceEntry>& device_forms() const { return devices_; }
  // The known name that `name` is most like, or "" if none is near.
  std::string Nearest(absl::string_view name) const;
  // AlreadyExists with each name that was registered twice; OK otherwise.
  absl::Status status() const;

 private:
  void AddEntry(Entry entry);
  void AddDeviceEntry(DeviceEntry entry);
  void AddGatherEntry(GatherEntry entry);
  // For device and gather forms: the names of their stages, and what makes one.
  template <class... Host>
  static std::vector<std::string> Sequence(const std::tuple<Host...>*);
  template <class Form, class Base, class... Host>
  static std::function<std::unique_ptr<Base>(absl::Span<const SampleStage* const>)> Maker(
      const std::tuple<Host...>*);

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<DeviceEntry> devices_;
  std::vector<GatherEntry> gathers_;
  std::vector<std::string> duplicates_;
};

// Registers `Stage` with the default registry; a constant at namespace scope.
template <class Stage>
struct StageRegistration {
  StageRegistration() noexcept { Registry::Default().Add<Stage>(); }
};

template <class Stage>
void Registry::Add() {
  if constexpr (std::is_base_of_v<DeviceStage, Stage>) {
    const auto* stages = static_cast<const typename Stage::HostStages*>(nullptr);
    AddDeviceEntry({Stage::kKind, Sequence(stages), Maker<Stage, DeviceStage>(stages)});
  } else if constexpr (std::is_base_of_v<GatherStage, Stage>) {
    const auto* stages = static_cast<const typename Stage::HostStages*>(nullptr);
    AddGatherEntry({Stage::kKind, Sequence(stages), Maker<Stage, GatherStage>(stages)});
  } else {
    Entry entry;
    entry.options = Stage::Options::descriptor();
    if constexpr (std::is_base_of_v<Source, Stage>) {
      entry.role = Role::kSource;
      entry.source = [] { return std::make_unique<Stage>(); };
    } else if constexpr (std::is_base_of_v<BatchStage, Stage>) {
      entry.role = Role::kBatch;
      entry.batch = [] { return std::make_unique<Stage>(); };
    } else if constexpr (std::is_base_of_v<PlanStage, Stage>) {
      entry.role = Role::kPlan;
      entry.plan = [] { return std::make_unique<Stage>(); };
    } else {
      static_assert(std::is_base_of_v<SampleStage, Stage>, "not a stage");
      entry.sample = [] { return std::make_unique<Stage>(); };
    }
    AddEntry(std::move(entry));
  }
}

template <class... Host>
std::vector<std::string> Registry::Sequence(const std::tuple<Host...>*) {
  return {std::string(Host::Options::descriptor()->full_name())...};
}

template <class Form, class Base, class... Host>
std::function<std::unique_ptr<Base>(absl::Span<const SampleStage* const>)> Registry::Maker(
    const std::tuple<Host...>*) {
  return []([[maybe_unused]] absl::Span<const SampleStage* const> host) {
    return [&]<size_t... I>(std::index_sequence<I...>) -> std::unique_ptr<Base> {
      return std::make_unique<Form>(static_cast<const Host&>(*host[I])...);
    }(std::index_sequence_for<Host...>());
  };
}

}  // namespace penstock
