#include "penstock/tools/stages_command.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "penstock/stages/registry.h"
#include "penstock/tools/messages.h"
#include "penstock/tools/stage_manual.h"
#include "penstock/tools/stage_protos.h"

namespace penstock {
namespace {

const char* RoleText(const Registry::Entry& stage) {
  switch (stage.role) {
    case Registry::Role::kSource:
      return "source";
    case Registry::Role::kSample:
      return "sample";
    case Registry::Role::kBatch:
      return "batch";
    case Registry::Role::kPlan:
      break;
  }
  return "plan";
}

// "host, sim, cuda": where the stage can run; "" for one that does no work.
std::string FormsText(const Registry::Entry& stage, const Registry& registry) {
  std::vector<std::string> forms;
  const bool on_host =
      stage.sample ? stage.sample()->has_host_form() : bool{stage.role != Registry::Role::kPlan};
  if (on_host) forms.emplace_back("host");
  std::set<std::string> devices;
  for (const Registry::DeviceEntry& form : registry.device_forms()) {
    const auto& stages = form.sequence;
    if (std::find(stages.begin(), stages.end(), stage.options->full_name()) == stages.end())
      continue;
    devices.insert(form.kind == DeviceKind::kCuda ? "cuda" : "sim");
  }
  forms.insert(forms.end(), devices.begin(), devices.end());
  return absl::StrJoin(forms, ", ");
}

int ListStages(const Registry& registry, const StageManual& manual) {
  const std::vector<const Registry::Entry*> entries = registry.entries();
  size_t width = 0;
  for (const Registry::Entry* stage : entries) {
    width = std::max(width, stage->options->full_name().size());
  }
  for (const Registry::Entry* stage : entries) {
    Print(absl::StrFormat("%-*s  %-6s  %-15s  %s\n", static_cast<int>(width),
                          stage->options->full_name(), RoleText(*stage),
                          FormsText(*stage, registry), manual.Brief(*stage->options)));
  }
  return kGood;
}

// "penstock.DecodeImage" and "decode_image" are one name.
std::string Plain(absl::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", ""}}));
}

const Registry::Entry* Find(const Registry& registry, const std::string& name) {
  if (const Registry::Entry* stage = registry.Find(name)) return stage;
  for (const Registry::Entry* stage : registry.entries()) {
    if (Plain(stage->options->name()) == Plain(name)) return stage;
  }
  return nullptr;
}

int PrintStage(const Registry& registry, const StageManual& manual, const std::string& name) {
  const Registry::Entry* stage = Find(registry, name);
  if (stage == nullptr) {
    const std::string nearest = registry.Nearest(name);
    return ReportWrongInput(absl::NotFoundError(
        absl::StrCat("there is no stage \"", name, "\" in this program; ",
                     nearest.empty() ? "`penstock stages` lists those that are"
                                     : absl::StrCat("did you mean ", nearest, "?"))));
  }
  const std::string forms = FormsText(*stage, registry);
  Print(absl::StrCat(stage->options->full_name(), ": ", RoleText(*stage), " stage",
                     forms.empty() ? "" : ", runs on: ", forms, "\n\n",
                     manual.Text(*stage->options), "\nTo paste:\n\n",
                     manual.Snippet(*stage->options)));
  return kGood;
}

}  // namespace

int StagesCommand(const std::string& name) {
  const Registry& registry = Registry::Default();
  const StageManual manual(StageProtos());
  return name.empty() ? ListStages(registry, manual) : PrintStage(registry, manual, name);
}

}  // namespace penstock
