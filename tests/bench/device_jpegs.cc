#include "penstock/tests/bench/device_jpegs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/decode/decode_image.pb.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

constexpr char kStage[] = "penstock.DecodeImage";
constexpr size_t kAligned = 256;
constexpr size_t kWord = 16;    // What a decoder may read beyond a file's ends.
constexpr size_t kBeside = 64;  // Between rows, to see what is written there.
constexpr double kSlack = 1.25;

size_t Up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

FieldView Encoded(absl::Span<const std::byte> file, const std::byte* at) {
  FieldView view;
  view.address = reinterpret_cast<uint64_t>(at);
  view.bytes = static_cast<int64_t>(file.size());
  return view;
}

size_t PixelBytes(const Region& region) { return static_cast<size_t>(region.area()) * 3; }

// Gives `buffer` at least `bytes`.
template <class Allocate>
absl::Status Grow(Buffer& buffer, size_t bytes, Allocate allocate) {
  if (buffer.size() >= bytes) return absl::OkStatus();
  buffer.Reset();
  PENSTOCK_ASSIGN_OR_RETURN(buffer,
                            allocate(static_cast<size_t>(static_cast<double>(bytes) * kSlack)));
  return absl::OkStatus();
}

// What lies at one place of both slabs.
template <class T>
Table<T> TableAt(const Buffer& host, const Buffer& device, size_t at) {
  return {reinterpret_cast<const T*>(host.data() + at),
          reinterpret_cast<const T*>(device.data() + at)};
}

}  // namespace

// Where everything lies, in bytes from the start of the slab and of the rows.
struct DeviceJpegs::Layout {
  size_t count = 0;  // Of tasks.
  size_t list = 0, in = 0, out = 0, descriptors = 0, status = 0;
  std::vector<size_t> file, row;
  size_t slab = 0, rows = 0, scratch = 0;
  int32_t taken = 0;

  Layout(absl::Span<const JpegTask> tasks, size_t descriptor_bytes) : count(tasks.size()) {
    list = Add(sizeof(int32_t));
    in = Add(sizeof(FieldView));
    out = Add(sizeof(FieldView));
    descriptors = Add(descriptor_bytes);
    status = Add(sizeof(int32_t));
    for (size_t i = 0; i < count; ++i) {
      // Every fourth file at an odd place.
      file.push_back(Up(slab + kWord, kWord) + (i % 4 == 3 ? i % kWord : 0));
      slab = file.back() + tasks[i].file.size() + kWord;
      row.push_back(rows + kBeside);
      rows = row.back() + PixelBytes(tasks[i].region);
    }
    slab = Up(slab, kAligned);
    rows += kBeside;
  }

 private:
  size_t Add(size_t item) {
    const size_t at = slab;
    slab = Up(slab + count * item, kAligned);
    return at;
  }
};

absl::StatusOr<std::unique_ptr<DeviceJpegs>> DeviceJpegs::Create(std::shared_ptr<Device> device,
                                                                 int64_t max_pixels) {
  const auto* form = Registry::Default().FindDeviceForm(device->kind(), {kStage});
  if (form == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("there is no form of ", kStage, " on ", device->name()));
  }
  std::unique_ptr<SampleStage> host = Registry::Default().Find(kStage)->sample();
  DecodeImage options;
  options.set_max_pixels(max_pixels);
  PENSTOCK_RETURN_IF_ERROR(host->Init(options));
  SampleSpec spec = {{FieldSpec::Encoded("image")}};
  PENSTOCK_RETURN_IF_ERROR(host->Infer(spec));
  const SampleStage* stages[] = {host.get()};
  std::unique_ptr<DeviceStage> made = form->make(stages);
  PENSTOCK_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, device->CreateStream());
  return std::unique_ptr<DeviceJpegs>(
      new DeviceJpegs(std::move(device), std::move(host), std::move(made), std::move(stream)));
}

DeviceJpegs::DeviceJpegs(std::shared_ptr<Device> device, std::unique_ptr<SampleStage> host,
                         std::unique_ptr<DeviceStage> form, std::unique_ptr<Stream> stream)
    : device_(std::move(device)),
      host_(std::move(host)),
      form_(std::move(form)),
      stream_(std::move(stream)) {}

absl::StatusOr<ImageSize> DeviceJpegs::Probe(absl::Span<const std::byte> file) const {
  ImageSize size;
  PENSTOCK_RETURN_IF_ERROR(host_->Probe(Encoded(file, file.data()), size));
  return size;
}

HostJpeg DeviceJpegs::DecodeOnHost(const JpegTask& task) const {
  HostJpeg outcome;
  outcome.pixels.resize(PixelBytes(task.region));
  FieldView out;
  out.address = reinterpret_cast<uint64_t>(outcome.pixels.data());
  out.bytes = static_cast<int64_t>(outcome.pixels.size());
  out.region = task.region;
  const std::unique_ptr<WorkerState> state = host_->MakeWorkerState();
  Scratch scratch;
  SampleContext context(state.get(), &scratch);
  outcome.status = host_->Process(nullptr, Encoded(task.file, task.file.data()), out, context);
  return outcome;
}

size_t DeviceJpegs::DeviceBytes(const JpegTask& task) const {
  std::vector<std::byte> descriptor(form_->descriptor_bytes());
  if (!form_->Describe(Encoded(task.file, task.file.data()), task.size, descriptor.data())) {
    return 0;
  }
  const Region regions[] = {task.region, task.region};
  return PixelBytes(task.region) +
         form_->row_scratch_bytes({.descriptor = descriptor.data(), .regions = regions});
}

absl::Status DeviceJpegs::Reserve(const Layout& layout) {
  const auto host = [this](size_t bytes) {
    return device_->AllocateHost(bytes, HostMemory::kPinned);
  };
  const auto on_device = [this](size_t bytes) { return device_->AllocateDevice(bytes); };
  PENSTOCK_RETURN_IF_ERROR(Grow(slab_, layout.slab, host));
  PENSTOCK_RETURN_IF_ERROR(Grow(rows_, layout.rows, host));
  PENSTOCK_RETURN_IF_ERROR(Grow(device_slab_, layout.slab, on_device));
  return Grow(device_rows_, layout.rows, on_device);
}

absl::Status DeviceJpegs::Fill(absl::Span<const JpegTask> tasks, Layout& layout) {
  std::memset(slab_.data(), 0, layout.slab);
  std::memset(rows_.data(), kUnwritten, layout.rows);
  auto* list = reinterpret_cast<int32_t*>(slab_.data() + layout.list);
  auto* in = reinterpret_cast<FieldView*>(slab_.data() + layout.in);
  auto* out = reinterpret_cast<FieldView*>(slab_.data() + layout.out);
  layout.scratch = form_->scratch_bytes(static_cast<int64_t>(layout.count));
  for (size_t i = 0; i < layout.count; ++i) {
    const JpegTask& task = tasks[i];
    std::copy(task.file.begin(), task.file.end(), slab_.data() + layout.file[i]);
    in[i] = Encoded(task.file, device_slab_.data() + layout.file[i]);
    out[i] = {.address = reinterpret_cast<uint64_t>(device_rows_.data() + layout.row[i]),
              .bytes = static_cast<int64_t>(PixelBytes(task.region)),
              .region = task.region};
    std::byte* descriptor = slab_.data() + layout.descriptors + i * form_->descriptor_bytes();
    if (!form_->Describe(Encoded(task.file, task.file.data()), task.size, descriptor)) continue;
    list[layout.taken++] = static_cast<int32_t>(i);
    const Region regions[] = {task.region, task.region};
    layout.scratch += form_->row_scratch_bytes({.descriptor = descriptor, .regions = regions});
  }
  return Grow(scratch_, layout.scratch,
              [this](size_t bytes) { return device_->AllocateDevice(bytes); });
}

absl::Status DeviceJpegs::Run(const Layout& layout) {
  const StreamRef stream = stream_->ref();
  PENSTOCK_RETURN_IF_ERROR(
      device_->CopyToDevice(device_slab_.data(), slab_.data(), layout.slab, stream));
  PENSTOCK_RETURN_IF_ERROR(
      device_->CopyToDevice(device_rows_.data(), rows_.data(), layout.rows, stream));
  const Table<FieldView> views[] = {TableAt<FieldView>(slab_, device_slab_, layout.in),
                                    TableAt<FieldView>(slab_, device_slab_, layout.out)};
  const Table<std::byte> params[1] = {};
  if (layout.taken > 0) {
    PENSTOCK_RETURN_IF_ERROR(
        form_->Enqueue({.device = *device_,
                        .stream = stream,
                        .rows = TableAt<int32_t>(slab_, device_slab_, layout.list),
                        .count = layout.taken,
                        .views = views,
                        .params = params,
                        .descriptors = TableAt<std::byte>(slab_, device_slab_, layout.descriptors),
                        .status = reinterpret_cast<int32_t*>(device_slab_.data() + layout.status),
                        .scratch = scratch_.data()}));
  }
  PENSTOCK_RETURN_IF_ERROR(device_->CopyToHost(slab_.data() + layout.status,
                                               device_slab_.data() + layout.status,
                                               layout.count * sizeof(int32_t), stream));
  PENSTOCK_RETURN_IF_ERROR(
      device_->CopyToHost(rows_.data(), device_rows_.data(), layout.rows, stream));
  return device_->Synchronize(stream);
}

absl::StatusOr<std::vector<JpegOutcome>> DeviceJpegs::Decode(absl::Span<const JpegTask> tasks) {
  Layout layout(tasks, form_->descriptor_bytes());
  PENSTOCK_RETURN_IF_ERROR(Reserve(layout));
  PENSTOCK_RETURN_IF_ERROR(Fill(tasks, layout));
  PENSTOCK_RETURN_IF_ERROR(Run(layout));
  std::vector<JpegOutcome> outcomes(tasks.size());
  const auto* list = reinterpret_cast<const int32_t*>(slab_.data() + layout.list);
  for (int32_t i = 0; i < layout.taken; ++i) outcomes[list[i]].taken = true;
  const auto* status = reinterpret_cast<const int32_t*>(slab_.data() + layout.status);
  const auto* rows = reinterpret_cast<const uint8_t*>(rows_.data());
  const auto unwritten = [](uint8_t byte) { return byte == kUnwritten; };
  for (size_t i = 0; i < tasks.size(); ++i) {
    JpegOutcome& outcome = outcomes[i];
    const uint8_t* row = rows + layout.row[i];
    outcome.status = status[i];
    outcome.pixels = {row, PixelBytes(tasks[i].region)};
    outcome.inside = std::all_of(row - kBeside, row, unwritten) &&
                     std::all_of(outcome.pixels.end(), outcome.pixels.end() + kBeside, unwritten);
  }
  return outcomes;
}

}  // namespace penstock
