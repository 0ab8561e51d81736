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

  // The one that StageRegistration fills.
  static Registry& Default();

  // A host stage, source, batch stage or plan stage, by `Stage::Options`; or a device form, whose
  // sequence is its HostStages.
  template <class Stage>
  void Add();
  // A source made by `make` (to hand a test's or a program's own object to it).
  void AddSource(const google::protobuf::Descriptor* options,
                 std::function<std::unique_ptr<Source>()> make);

  // Null if no linked code registered it.
  const Entry* Find(absl::string_view full_name) const;
  // Null if there is no form for exactly this sequence.
  const DeviceEntry* FindDeviceForm(DeviceKind kind, absl::Span<const std::string> sequence) const;

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
  template <class Stage, class... Host>
  void AddDevice(const std::tuple<Host...>*);

  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<DeviceEntry> devices_;
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
    AddDevice<Stage>(static_cast<const typename Stage::HostStages*>(nullptr));
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

template <class Stage, class... Host>
void Registry::AddDevice(const std::tuple<Host...>*) {
  DeviceEntry entry;
  entry.kind = Stage::kKind;
  entry.sequence = {std::string(Host::Options::descriptor()->full_name())...};
  entry.make = [](absl::Span<const SampleStage* const> host) {
    return [&]<size_t... I>(std::index_sequence<I...>) -> std::unique_ptr<DeviceStage> {
      return std::make_unique<Stage>(static_cast<const Host&>(*host[I])...);
    }(std::index_sequence_for<Host...>());
  };
  AddDeviceEntry(std::move(entry));
}

}  // namespace penstock
