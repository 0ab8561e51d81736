// Holds the JPEG decoder of a device against the host's, file by file.
//
//   jpeg_verdicts [--device=cuda:0] [--limit=N] [--batch=256] [--expect=taken|refused] FOLDER...
//
// All files below the folders, in the order of their names, the first N of each; in batches, each
// file once whole and once in a region of its own. A file that the device decodes must have the
// bytes that the host gives, and the host must find no fault with it; where the device finds one,
// the host has the last word. `--expect=taken`, and a name that ends in _good.jpg, say that the
// device must decode the file without a fault; `--expect=refused` that it must leave it to the
// host. Prints counts by the kind of file, which is its name from the first underscore, and every
// difference; exits with 1 if there is one. With --device=sim the form's host bodies stand for it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "penstock/memory/open_device.h"
#include "penstock/memory/status_macros.h"
#include "penstock/tests/bench/device_jpegs.h"
#include "penstock/tests/bench/image_files.h"

namespace penstock {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 25;  // What damaged headers may ask for.
constexpr size_t kBatchBytes = size_t{4} << 30;   // Of device memory, beside the files.
constexpr int kMostPrinted = 50;                  // Differences.

struct Flags {
  std::string device = "cuda:0", expect;
  size_t limit = SIZE_MAX, batch = 256;
  std::vector<std::string> folders;
};

struct Counts {
  int64_t files = 0, bad_header = 0;
  int64_t refused_good = 0, refused_bad = 0;  // By the device; what the host says of them.
  int64_t equal = 0, agreed_bad = 0;          // Decoded by both; found damaged by both.
  int64_t stricter = 0;                       // Found damaged by the device alone.
  int64_t different = 0;

  void Add(const Counts& other) {
    files += other.files, bad_header += other.bad_header;
    refused_good += other.refused_good, refused_bad += other.refused_bad;
    equal += other.equal, agreed_bad += other.agreed_bad;
    stricter += other.stricter, different += other.different;
  }
};

class Verdicts {
 public:
  Verdicts(Flags flags, std::unique_ptr<DeviceJpegs> device)
      : flags_(std::move(flags)), device_(std::move(device)) {}

  absl::Status Run();

 private:
  absl::Status ReadAll();
  absl::Status Read(const std::string& path);
  absl::Status Flush();
  absl::Status Compare(const std::vector<JpegTask>& tasks, const char* what);
  // One file's counts; `problem` says what differs, if anything does.
  Counts Judge(const File& file, const JpegOutcome& device, const HostJpeg& host,
               std::string& problem) const;
  void Print() const;

  Flags flags_;
  std::unique_ptr<DeviceJpegs> device_;
  std::vector<File> batch_;
  size_t batch_bytes_ = 0;
  std::map<std::string, Counts> counts_;
  int64_t different_ = 0;
};

absl::Status Verdicts::Run() {
  PENSTOCK_RETURN_IF_ERROR(ReadAll());
  PENSTOCK_RETURN_IF_ERROR(Flush());
  Print();
  if (different_ == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(different_, " differences"));
}

absl::Status Verdicts::ReadAll() {
  for (const std::string& folder : flags_.folders) {
    for (const std::string& path : FilesBelow(folder, flags_.limit)) {
      PENSTOCK_RETURN_IF_ERROR(Read(path));
    }
  }
  return absl::OkStatus();
}

absl::Status Verdicts::Read(const std::string& path) {
  File file;
  file.path = path;
  file.content = ReadFile(path);
  const auto size = device_->Probe(file.bytes());
  Counts& counts = counts_[file.kind()];
  ++counts.files;
  if (!size.ok()) {  // No device gets to see it.
    ++counts.bad_header;
    if (flags_.expect != "refused" &&
        (!flags_.expect.empty() || absl::EndsWith(path, "_good.jpg"))) {
      ++different_;
      std::printf("%s: %s\n", path.c_str(), size.status().ToString().c_str());
    }
    return absl::OkStatus();
  }
  file.size = *size;
  file.part = RandomPart(file.name(), *size);
  const size_t bytes = device_->DeviceBytes({file.bytes(), *size, Region::Whole(*size)});
  if (batch_.size() == flags_.batch || batch_bytes_ + bytes > kBatchBytes) {
    PENSTOCK_RETURN_IF_ERROR(Flush());
  }
  batch_bytes_ += bytes;
  batch_.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status Verdicts::Flush() {
  std::vector<JpegTask> whole, parts;
  for (const File& file : batch_) {
    whole.push_back({file.bytes(), file.size, Region::Whole(file.size)});
    parts.push_back({file.bytes(), file.size, file.part});
  }
  PENSTOCK_RETURN_IF_ERROR(Compare(whole, "whole"));
  PENSTOCK_RETURN_IF_ERROR(Compare(parts, "in part"));
  batch_.clear();
  batch_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status Verdicts::Compare(const std::vector<JpegTask>& tasks, const char* what) {
  if (tasks.empty()) return absl::OkStatus();
  PENSTOCK_ASSIGN_OR_RETURN(const std::vector<JpegOutcome> outcomes, device_->Decode(tasks));
  std::vector<Counts> counts(tasks.size());
  std::vector<std::string> problems(tasks.size());
  InParallel(tasks.size(), [&](size_t i) {
    counts[i] = Judge(batch_[i], outcomes[i], device_->DecodeOnHost(tasks[i]), problems[i]);
  });
  for (size_t i = 0; i < tasks.size(); ++i) {
    counts_[batch_[i].kind()].Add(counts[i]);
    if (problems[i].empty()) continue;
    const Region& r = tasks[i].region;
    if (++different_ > kMostPrinted) continue;
    std::printf("%s %s (%dx%d from row %d, column %d of %dx%d): %s\n", batch_[i].path.c_str(), what,
                r.height, r.width, r.y, r.x, tasks[i].size.height, tasks[i].size.width,
                problems[i].c_str());
  }
  return absl::OkStatus();
}

Counts Verdicts::Judge(const File& file, const JpegOutcome& device, const HostJpeg& host,
                       std::string& problem) const {
  Counts counts;
  const bool damaged = device.status != 0;
  const auto unwritten = [](uint8_t byte) { return byte == DeviceJpegs::kUnwritten; };
  if (!device.inside) {
    problem = "bytes beside the pixels were written";
  } else if (!device.taken && !std::all_of(device.pixels.begin(), device.pixels.end(), unwritten)) {
    problem = "a row that is not in the list was written";
  } else if (device.taken && !damaged && !host.status.ok()) {
    problem = absl::StrCat("no fault found, but the host says: ", host.status.message());
  } else if (device.taken && !damaged) {
    const auto [at, other] =
        std::mismatch(host.pixels.begin(), host.pixels.end(), device.pixels.begin());
    if (at != host.pixels.end()) {
      problem = absl::StrCat("byte ", at - host.pixels.begin(), " is ", *other, ", expected ", *at);
    }
  }
  if (problem.empty() && (flags_.expect == "taken" || absl::EndsWith(file.path, "_good.jpg")) &&
      (!device.taken || damaged)) {
    problem = device.taken ? absl::StrCat("status ", device.status, " for a good file")
                           : "left to the host";
  }
  if (problem.empty() && flags_.expect == "refused" && device.taken) {
    problem = "taken, though it was to be refused";
  }
  if (!problem.empty()) {
    counts.different = 1;
  } else if (!device.taken) {
    (host.status.ok() ? counts.refused_good : counts.refused_bad) = 1;
  } else if (!damaged) {
    counts.equal = 1;
  } else {
    (host.status.ok() ? counts.stricter : counts.agreed_bad) = 1;
  }
  return counts;
}

void Verdicts::Print() const {
  Counts sum;
  const auto line = [](const std::string& kind, const Counts& c) {
    std::printf("%-28.28s %7ld %7ld %8ld %8ld %7ld %7ld %8ld %9ld\n", kind.c_str(), c.files,
                c.bad_header, c.refused_good, c.refused_bad, c.equal, c.agreed_bad, c.stricter,
                c.different);
  };
  std::printf("Every file that has a size counts twice: whole, and in part.\n");
  std::printf("%-28s %7s %7s %8s %8s %7s %7s %8s %9s\n", "kind", "files", "no size", "to host",
              "and bad", "equal", "damaged", "stricter", "DIFFERENT");
  // A folder of good files has a kind for nearly each: the sum says enough.
  constexpr size_t kMostKinds = 60;
  for (const auto& [kind, counts] : counts_) {
    if (counts_.size() <= kMostKinds) line(kind, counts);
    sum.Add(counts);
  }
  line("all", sum);
}

absl::Status ParseFlags(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view value = argv[i];
    if (absl::ConsumePrefix(&value, "--device=")) {
      flags.device = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--expect=")) {
      flags.expect = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--limit=")) {
      if (!absl::SimpleAtoi(value, &flags.limit)) return absl::InvalidArgumentError("--limit");
    } else if (absl::ConsumePrefix(&value, "--batch=")) {
      if (!absl::SimpleAtoi(value, &flags.batch)) return absl::InvalidArgumentError("--batch");
    } else {
      flags.folders.emplace_back(value);
    }
  }
  const bool known = flags.expect.empty() || flags.expect == "taken" || flags.expect == "refused";
  if (!flags.folders.empty() && known && flags.batch > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("usage: jpeg_verdicts [FLAGS] FOLDER...; see its head");
}

absl::Status Main(int argc, char** argv) {
  Flags flags;
  PENSTOCK_RETURN_IF_ERROR(ParseFlags(argc, argv, flags));
  PENSTOCK_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, OpenDevice(flags.device));
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<DeviceJpegs> jpegs,
                            DeviceJpegs::Create(device, kMaxPixels));
  return Verdicts(std::move(flags), std::move(jpegs)).Run();
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  const absl::Status status = penstock::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "jpeg_verdicts: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
