#include "penstock/stages/registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/stages/nearest.h"

namespace penstock {
namespace {

template <class Entry>
const Entry* FindForm(const std::vector<Entry>& entries, DeviceKind kind,
                      absl::Span<const std::string> sequence) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.kind == kind && std::equal(entry.sequence.begin(), entry.sequence.end(),
                                            sequence.begin(), sequence.end());
  });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

Registry& Registry::Default() {
  static auto* registry = new Registry;  // Never destroyed: static objects of other files use it.
  return *registry;
}

void Registry::AddSource(const google::protobuf::Descriptor* options,
                         std::function<std::unique_ptr<Source>()> make) {
  Entry entry;
  entry.options = options;
  entry.role = Role::kSource;
  entry.source = std::move(make);
  AddEntry(std::move(entry));
}

void Registry::AddEntry(Entry entry) {
  std::string name(entry.options->full_name());
  if (!entries_.emplace(name, std::move(entry)).second) duplicates_.push_back(std::move(name));
}

void Registry::AddDeviceEntry(DeviceEntry entry) {
  if (FindDeviceForm(entry.kind, entry.sequence) != nullptr) {
    duplicates_.push_back(absl::StrCat(absl::StrJoin(entry.sequence, "+"), " (device form)"));
    return;
  }
  devices_.push_back(std::move(entry));
}

void Registry::AddGatherEntry(GatherEntry entry) {
  if (FindGatherForm(entry.kind, entry.sequence) != nullptr) {
    duplicates_.push_back(absl::StrCat(absl::StrJoin(entry.sequence, "+"), " (gather form)"));
    return;
  }
  gathers_.push_back(std::move(entry));
}

const Registry::Entry* Registry::Find(absl::string_view full_name) const {
  const auto found = entries_.find(std::string_view(full_name.data(), full_name.size()));
  return found == entries_.end() ? nullptr : &found->second;
}

const Registry::DeviceEntry* Registry::FindDeviceForm(
    DeviceKind kind, absl::Span<const std::string> sequence) const {
  return FindForm(devices_, kind, sequence);
}

const Registry::GatherEntry* Registry::FindGatherForm(
    DeviceKind kind, absl::Span<const std::string> sequence) const {
  return FindForm(gathers_, kind, sequence);
}

std::vector<const Registry::Entry*> Registry::entries() const {
  std::vector<const Entry*> all;
  for (const auto& [name, entry] : entries_) all.push_back(&entry);
  return all;
}

std::string Registry::Nearest(absl::string_view name) const {
  std::vector<std::string> known;
  for (const auto& [full_name, entry] : entries_) known.push_back(full_name);
  return penstock::Nearest(name, known);
}

absl::Status Registry::status() const {
  if (duplicates_.empty()) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "registered twice: ", absl::StrJoin(duplicates_, ", "), "; link each stage once"));
}

}  // namespace penstock
