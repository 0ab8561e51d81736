#include "penstock/stages/read/read_cifar10_stage.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/printable.h"
#include "penstock/stages/read/root_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

const StageRegistration<ReadCifar10Stage> kHostForm;

constexpr int kSide = 32;
constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kImage = 3 * kPlane;
constexpr int64_t kRecord = 1 + kImage;
constexpr int64_t kRecordOfCifar100 = 2 + kImage;
constexpr int kClasses = 10;
constexpr char kArchiveFolder[] = "cifar-10-batches-bin";

enum Field { kImageField, kLabelField };

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

std::vector<std::string> FileNames(ReadCifar10::Split split) {
  if (split == ReadCifar10::TEST) return {"test_batch.bin"};
  std::vector<std::string> names;
  for (int i = 1; i <= 5; ++i) names.push_back(absl::StrCat("data_batch_", i, ".bin"));
  return names;
}

// What somebody who has no such file most likely has instead.
std::string MissingHint(const std::string& folder) {
  for (const char* name : {"", "/cifar-10-batches-py"}) {
    if (Exists(absl::StrCat(folder, name, "/data_batch_1"))) {
      return "; this is the Python version of CIFAR-10, the binary version is needed";
    }
  }
  for (const char* name : {"", "/cifar-100-binary"}) {
    if (Exists(absl::StrCat(folder, name, "/train.bin"))) return "; this looks like CIFAR-100";
  }
  return "";
}

absl::Status WholeRecords(const std::string& path, int64_t bytes) {
  if (bytes == 0) return absl::DataLossError(absl::StrCat(Printable(path), ": empty file"));
  const int64_t rest = bytes % kRecord;
  if (rest == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      Printable(path), ": ", bytes, " bytes are no whole number of records: after ",
      bytes / kRecord, " there are ", rest, " of ", kRecord, " bytes",
      bytes % kRecordOfCifar100 == 0 ? absl::StrCat("; it has whole records of ", kRecordOfCifar100,
                                                    " bytes: is it CIFAR-100?")
                                     : ""));
}

// Three planes to interleaved pixels, in one pass.
void Interleave(const uint8_t* __restrict planes, uint8_t* __restrict pixels) {
  for (int64_t i = 0; i < kPlane; ++i) {
    pixels[3 * i] = planes[i];
    pixels[3 * i + 1] = planes[kPlane + i];
    pixels[3 * i + 2] = planes[2 * kPlane + i];
  }
}

}  // namespace

absl::Status ReadCifar10Stage::Init() {
  PENSTOCK_RETURN_IF_ERROR(CheckRoot(options().root()));
  folder_ = options().root();
  const std::vector<std::string> names = FileNames(options().split());
  const std::string inner = absl::StrCat(folder_, "/", kArchiveFolder);
  if (!Exists(absl::StrCat(folder_, "/", names[0])) && Exists(inner)) folder_ = inner;
  Fingerprint fingerprint;
  for (const std::string& name : names) {
    PENSTOCK_RETURN_IF_ERROR(AddFile(folder_, name));
    fingerprint.Add(absl::StrCat(name, ":", size_));
  }
  fingerprint_ = fingerprint.value();
  return absl::OkStatus();
}

absl::Status ReadCifar10Stage::AddFile(const std::string& folder, const std::string& name) {
  const std::string path = absl::StrCat(folder, "/", name);
  const absl::StatusOr<int64_t> bytes = FileReader().Measure({.file = path});
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(absl::StrCat(bytes.status().message(), "; expected the files of ",
                                            kArchiveFolder, MissingHint(options().root())));
  }
  PENSTOCK_RETURN_IF_ERROR(bytes.status());
  PENSTOCK_RETURN_IF_ERROR(WholeRecords(path, *bytes));
  files_.push_back({name, path, size_});
  size_ += *bytes / kRecord;
  return absl::OkStatus();
}

SampleSpec ReadCifar10Stage::fields() const {
  SampleSpec spec;
  spec.fields = {FieldSpec::Image("image", {kSide, kSide}), FieldSpec::Scalar("label", kInt64)};
  return spec;
}

std::vector<std::string> ReadCifar10Stage::class_names() const {
  return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
}

std::string ReadCifar10Stage::summary() const {
  return absl::StrCat(size_, " samples in ", files_.size(),
                      files_.size() == 1 ? " file of '" : " files of '", Printable(folder_), "'");
}

const ReadCifar10Stage::File& ReadCifar10Stage::FileOf(int64_t id) const {
  size_t i = files_.size() - 1;
  while (files_[i].first_id > id) --i;
  return files_[i];
}

std::string ReadCifar10Stage::key(int64_t id) const {
  const File& file = FileOf(id);
  return absl::StrCat(file.name, ":", id - file.first_id);
}

Extent ReadCifar10Stage::Locate(int64_t id) const {
  const File& file = FileOf(id);
  return {.file = file.path, .offset = (id - file.first_id) * kRecord, .bytes = kRecord};
}

absl::Status ReadCifar10Stage::Finish(absl::Span<const std::byte> bytes, Sample& sample,
                                      SampleContext& context) const {
  const auto* record = reinterpret_cast<const uint8_t*>(bytes.data());
  if (record[0] >= kClasses) {
    return absl::DataLossError(
        absl::StrCat("label is ", int{record[0]}, ", expected 0 to ", kClasses - 1));
  }
  *sample.fields[kLabelField].data<int64_t>() = record[0];
  FieldView& image = sample.fields[kImageField];
  if (image.address == 0) image.address = reinterpret_cast<uint64_t>(context.Allocate(kImage));
  image.bytes = kImage;
  image.region = Region::Whole({kSide, kSide});
  image.channels = 3;
  image.dtype = kUint8;
  Interleave(record + 1, image.data<uint8_t>());
  return absl::OkStatus();
}

}  // namespace penstock
