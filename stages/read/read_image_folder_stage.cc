#include "penstock/stages/read/read_image_folder_stage.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/nearest.h"
#include "penstock/stages/read/class_names.h"
#include "penstock/stages/read/printable.h"
#include "penstock/stages/read/root_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<ReadImageFolderStage> kHostForm;

enum Field { kImageField, kLabelField };

// "'a', 'b', 'c' and 4 more".
std::string List(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  const auto shown = absl::MakeSpan(names).subspan(0, kShown);
  std::string text = absl::StrJoin(shown, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, "'", Printable(name), "'");
  });
  if (names.size() > kShown) absl::StrAppend(&text, " and ", names.size() - kShown, " more");
  return text;
}

std::string Count(int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace

absl::Status ReadImageFolderStage::Init() {
  PENSTOCK_RETURN_IF_ERROR(CheckOptions());
  PENSTOCK_RETURN_IF_ERROR(CheckRoot(options().root()));
  root_ = options().root();
  while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
  FolderWalk::Options walk_options;
  walk_options.extensions = Extensions();
  walk_options.follow_symlinks = !options().has_follow_symlinks() || options().follow_symlinks();
  if (options().has_limit()) walk_options.limit = options().limit();
  FolderWalk walk(root_, std::move(walk_options), images_);
  PENSTOCK_RETURN_IF_ERROR(labelled() ? WalkClasses(walk) : walk.Walk("", 0));
  if (images_.size() == 0) return NoImages();
  Summarise(walk.left_out());
  Fingerprint fingerprint;
  for (const std::string& name : class_names_) fingerprint.Add(name);
  for (int64_t id = 0; id < images_.size(); ++id) fingerprint.Add(images_.path(id));
  fingerprint_ = fingerprint.value();
  return absl::OkStatus();
}

absl::Status ReadImageFolderStage::CheckOptions() const {
  if (options().has_limit() && options().limit() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit is ", options().limit(), ", expected at least 1"));
  }
  for (const std::string& end : options().extensions()) {
    if (end.empty() || end == "." || absl::StrContains(end, '/')) {
      return absl::InvalidArgumentError(absl::StrCat(
          "extensions has '", Printable(end), "', expected the end of a file name, like .jpg"));
    }
  }
  if (options().has_classes_file() && !labelled()) {
    return absl::InvalidArgumentError("classes_file is set, which needs labels: FROM_FOLDER");
  }
  return absl::OkStatus();
}

std::vector<std::string> ReadImageFolderStage::Extensions() const {
  if (options().extensions().empty()) {
    return {".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
  }
  std::vector<std::string> extensions;
  for (const std::string& end : options().extensions()) {
    extensions.push_back(absl::AsciiStrToLower(end[0] == '.' ? end : absl::StrCat(".", end)));
  }
  return extensions;
}

absl::Status ReadImageFolderStage::WalkClasses(FolderWalk& walk) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<FolderWalk::Entry> entries, walk.ListRoot());
  std::vector<std::string> folders;
  for (const FolderWalk::Entry& entry : entries) {
    if (entry.is_folder) {
      folders.push_back(entry.name);
    } else {
      ++beside_classes_;
    }
  }
  if (folders.empty()) return NoClasses(entries);
  std::map<std::string, int32_t> labels;
  PENSTOCK_RETURN_IF_ERROR(NumberClasses(folders, labels));
  std::vector<std::string> empty;
  for (const std::string& folder : folders) {
    if (walk.full()) break;
    const int64_t before = images_.size();
    PENSTOCK_RETURN_IF_ERROR(walk.Walk(folder, labels[folder]));
    if (images_.size() == before) empty.push_back(folder);
  }
  if (empty.empty() || options().allow_empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(Printable(root_), ": no image in class folder ", List(empty), " (looked for ",
                   absl::StrJoin(Extensions(), " "), "); allow_empty: true accepts that"));
}

// Fills `labels` by folder, and class_names_.
absl::Status ReadImageFolderStage::NumberClasses(const std::vector<std::string>& folders,
                                                 std::map<std::string, int32_t>& labels) {
  std::vector<std::string> names = folders;
  const std::string& path = options().classes_file();
  if (options().has_classes_file()) {
    PENSTOCK_ASSIGN_OR_RETURN(names, ReadClassNames(path));
  }
  for (size_t i = 0; i < names.size(); ++i) labels[names[i]] = static_cast<int32_t>(i);
  for (const std::string& folder : folders) {
    if (labels.contains(folder)) continue;
    const std::string nearest = Nearest(folder, names);
    return absl::FailedPreconditionError(
        absl::StrCat(Printable(root_), ": folder '", Printable(folder), "' is no class of ",
                     Printable(path), nearest.empty() ? "" : "; the nearest one there is '",
                     Printable(nearest), nearest.empty() ? "" : "'"));
  }
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    class_names_.push_back(Printable(name));
    if (!std::binary_search(folders.begin(), folders.end(), name)) missing.push_back(name);
  }
  if (missing.empty() || options().allow_empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(Printable(root_), ": no folder for ",
                                                    List(missing), " of ", Printable(path),
                                                    "; allow_empty: true accepts that"));
}

absl::Status ReadImageFolderStage::NoClasses(const std::vector<FolderWalk::Entry>& entries) const {
  const auto images = static_cast<int64_t>(entries.size());
  return absl::NotFoundError(absl::StrCat(
      Printable(root_), ": no class folders, expected one sub-folder a class with its images",
      images == 0 ? ""
                  : absl::StrCat("; labels: NONE would read the ", Count(images, "image", "images"),
                                 " in it")));
}

absl::Status ReadImageFolderStage::NoImages() const {
  return absl::NotFoundError(absl::StrCat(Printable(root_), ": no image below it (looked for ",
                                          absl::StrJoin(Extensions(), " "), ")"));
}

void ReadImageFolderStage::Summarise(const LeftOut& left_out) {
  summary_ = Count(images_.size(), "image", "images");
  if (labelled()) {
    absl::StrAppend(&summary_, " in ",
                    Count(static_cast<int64_t>(class_names_.size()), "class", "classes"));
  }
  absl::StrAppend(&summary_, " below '", Printable(root_), "'");
  std::string rest = left_out.ToString();
  if (beside_classes_ > 0) {
    absl::StrAppend(&rest, rest.empty() ? "" : ", ", Count(beside_classes_, "image", "images"),
                    " beside the class folders");
  }
  if (!rest.empty()) absl::StrAppend(&summary_, "; left out: ", rest);
}

SampleSpec ReadImageFolderStage::fields() const {
  SampleSpec spec;
  spec.fields.push_back(FieldSpec::Encoded("image"));
  if (labelled()) spec.fields.push_back(FieldSpec::Scalar("label", kInt64));
  return spec;
}

std::string ReadImageFolderStage::key(int64_t id) const { return Printable(images_.path(id)); }

Extent ReadImageFolderStage::Locate(int64_t id) const {
  return {.file = absl::StrCat(root_, root_ == "/" ? "" : "/", images_.path(id))};
}

absl::Status ReadImageFolderStage::Finish(absl::Span<const std::byte> bytes, Sample& sample,
                                          SampleContext&) const {
  sample.fields[kImageField].address = reinterpret_cast<uint64_t>(bytes.data());
  sample.fields[kImageField].bytes = static_cast<int64_t>(bytes.size());
  // Labels follow from the place in the list, not from the bytes.
  if (labelled()) *sample.fields[kLabelField].data<int64_t>() = images_.label(sample.id);
  return absl::OkStatus();
}

}  // namespace penstock
