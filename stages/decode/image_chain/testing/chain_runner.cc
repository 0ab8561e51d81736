#include "penstock/stages/decode/image_chain/testing/chain_runner.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kAround = 64;  // Untouched bytes around each row.
constexpr uint8_t kUntouched = 0xAB;
constexpr size_t kGuard = 4096;  // Bytes around scratch memory.
constexpr std::byte kGuarded{0xCD};

size_t RoundUp(size_t value) { return (value + kAlignment - 1) / kAlignment * kAlignment; }

// Memory of the device that goes with a Table: copied there as a whole.
class DeviceCopy {
 public:
  absl::Status Make(Device& device, StreamRef stream, const void* from, size_t bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(buffer_, device.AllocateDevice(std::max<size_t>(bytes, 16)));
    return bytes == 0 ? absl::OkStatus()
                      : device.CopyToDevice(buffer_.data(), static_cast<const std::byte*>(from),
                                            bytes, stream);
  }
  template <class T>
  absl::StatusOr<Table<T>> Of(Device& device, StreamRef stream, const std::vector<T>& host) {
    PENSTOCK_RETURN_IF_ERROR(Make(device, stream, host.data(), host.size() * sizeof(T)));
    return Table<T>{host.data(), reinterpret_cast<const T*>(buffer_.data())};
  }
  std::byte* data() const { return buffer_.data(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(buffer_.data()); }

 private:
  Buffer buffer_;
};

}  // namespace

ChainRunner::ChainRunner(const ChainCase& c)
    : case_(c), chain_(MakeChain(FieldSpec::Encoded("image"), c.stages)), rows_(c.files.size()) {
  for (const ChainLink& link : chain_.links) {
    params_.emplace_back(link.stage->params_bytes() * rows_.size() + 16);
  }
}

absl::StatusOr<ChainRunner> ChainRunner::Create(const ChainCase& c) {
  ChainRunner runner(c);
  for (size_t row = 0; row < c.files.size(); ++row) {
    PENSTOCK_RETURN_IF_ERROR(runner.ResolveRow(row));
  }
  return runner;
}

absl::Status ChainRunner::ResolveRow(size_t index) {
  Row& row = rows_[index];
  for (size_t i = 0; i < chain_.links.size(); ++i) {
    row.params.push_back(params_[i].data() + index * chain_.links[i].stage->params_bytes());
  }
  ImageSize size;
  const std::vector<std::byte>& file = case_.files[index];
  row.in = in_bytes_;
  in_bytes_ = RoundUp(in_bytes_ + file.size());
  PENSTOCK_RETURN_IF_ERROR(chain_.links[0].stage->Probe(
      InView(index, reinterpret_cast<uint64_t>(file.data()) - row.in), size));
  PENSTOCK_RETURN_IF_ERROR(
      chain_.Resolve(size, {.seed = 5, .epoch = 1, .id = index}, row.params, row.resolved));
  if (index < case_.parts.size() && case_.parts[index]) {
    row.resolved.region.back() = *case_.parts[index];
  }
  const FieldSpec& spec = chain_.links.back().out;
  row.out = RoundUp(out_bytes_ + kAround) + case_.out_shift;
  row.out_bytes = row.resolved.region.back().area() * spec.channels() * ItemBytes(spec.dtype);
  out_bytes_ = row.out + static_cast<size_t>(row.out_bytes) + kAround;
  return absl::OkStatus();
}

FieldView ChainRunner::InView(size_t row, uint64_t files) const {
  return {.address = files + rows_[row].in,
          .bytes = static_cast<int64_t>(case_.files[row].size()),
          .region = {}};
}

FieldView ChainRunner::OutView(size_t row, uint64_t out) const {
  const FieldSpec& spec = chain_.links.back().out;
  return {.address = out + rows_[row].out,
          .bytes = rows_[row].out_bytes,
          .region = rows_[row].resolved.region.back(),
          .channels = static_cast<int32_t>(spec.channels()),
          .dtype = spec.dtype};
}

FieldView ChainRunner::View(size_t row, size_t boundary, uint64_t files, uint64_t out) const {
  if (boundary == 0) return InView(row, files);
  if (boundary == chain_.links.size()) return OutView(row, out);
  FieldView view;
  view.region = rows_[row].resolved.region[boundary];
  return view;
}

absl::StatusOr<ChainOutput> ChainRunner::RunHost(const std::vector<int32_t>& rows) {
  ChainOutput output = {std::vector<uint8_t>(out_bytes_, kUntouched),
                        std::vector<int32_t>(rows_.size())};
  ChainWorker worker = chain_.MakeWorker();
  for (const int32_t r : rows) {
    Row& row = rows_[r];
    const FieldView in = InView(r, reinterpret_cast<uint64_t>(case_.files[r].data()) - row.in);
    PENSTOCK_RETURN_IF_ERROR(
        chain_.Process(in, row.resolved, row.params,
                       OutView(r, reinterpret_cast<uint64_t>(output.bytes.data())), worker));
  }
  return output;
}

absl::StatusOr<std::unique_ptr<DeviceStage>> ChainRunner::MakeForm(DeviceKind kind) const {
  const std::vector<std::string> types = TypesOf(case_.stages);
  const Registry::DeviceEntry* entry = Registry::Default().FindDeviceForm(kind, types);
  std::vector<const SampleStage*> host;
  for (const ChainLink& link : chain_.links) host.push_back(link.stage.get());
  std::unique_ptr<DeviceStage> form = entry == nullptr ? nullptr : entry->make(host);
  if (form == nullptr || !form->accepts()) return absl::NotFoundError(ToString(case_.stages));
  return form;
}

absl::StatusOr<ChainOutput> ChainRunner::RunForm(Device& device) {
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceStage> form, MakeForm(device.kind()));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream());
  const StreamRef ref = stream->ref();
  ChainOutput output = {std::vector<uint8_t>(out_bytes_, kUntouched),
                        std::vector<int32_t>(rows_.size())};

  std::vector<std::byte> files(in_bytes_ + kAlignment);
  const size_t descriptor_bytes = form->descriptor_bytes();
  std::vector<std::byte> descriptors(rows_.size() * descriptor_bytes + 16);
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::memcpy(files.data() + rows_[r].in, case_.files[r].data(), case_.files[r].size());
    if (!form->Describe(InView(r, reinterpret_cast<uint64_t>(files.data())),
                        rows_[r].resolved.size[0], descriptors.data() + r * descriptor_bytes)) {
      return absl::FailedPreconditionError(absl::StrCat("file ", r, " is not described"));
    }
  }
  DeviceCopy device_files, out, list, status, described;
  PENSTOCK_RETURN_IF_ERROR(device_files.Make(device, ref, files.data(), files.size()));
  PENSTOCK_RETURN_IF_ERROR(out.Make(device, ref, output.bytes.data(), output.bytes.size()));
  PENSTOCK_RETURN_IF_ERROR(
      status.Make(device, ref, output.status.data(), output.status.size() * sizeof(int32_t)));

  const size_t boundaries = chain_.links.size() + 1;
  std::vector<std::vector<FieldView>> views(boundaries);
  std::vector<DeviceCopy> view_copies(boundaries), param_copies(boundaries - 1);
  std::vector<Table<FieldView>> view_tables;
  std::vector<Table<std::byte>> param_tables;
  for (size_t b = 0; b < boundaries; ++b) {
    for (size_t r = 0; r < rows_.size(); ++r) {
      views[b].push_back(View(r, b, device_files.address(), out.address()));
    }
    PENSTOCK_ASSIGN_OR_RETURN(const auto table, view_copies[b].Of(device, ref, views[b]));
    view_tables.push_back(table);
  }
  for (size_t i = 0; i + 1 < boundaries; ++i) {
    PENSTOCK_ASSIGN_OR_RETURN(const auto table, param_copies[i].Of(device, ref, params_[i]));
    param_tables.push_back(table);
  }
  PENSTOCK_ASSIGN_OR_RETURN(const auto row_table, list.Of(device, ref, case_.rows));
  PENSTOCK_ASSIGN_OR_RETURN(const auto descriptor_table, described.Of(device, ref, descriptors));

  size_t scratch_bytes = form->scratch_bytes(static_cast<int64_t>(case_.rows.size()));
  for (const int32_t r : case_.rows) {
    scratch_bytes +=
        form->row_scratch_bytes({.descriptor = descriptors.data() + r * descriptor_bytes,
                                 .regions = rows_[r].resolved.region});
  }
  std::vector<std::byte> scratch_memory(scratch_bytes + 2 * kGuard, kGuarded);
  DeviceCopy scratch;
  PENSTOCK_RETURN_IF_ERROR(scratch.Make(device, ref, scratch_memory.data(), scratch_memory.size()));
  PENSTOCK_RETURN_IF_ERROR(form->Enqueue({.device = device,
                                          .stream = ref,
                                          .rows = row_table,
                                          .count = static_cast<int32_t>(case_.rows.size()),
                                          .views = view_tables,
                                          .params = param_tables,
                                          .descriptors = descriptor_table,
                                          .status = reinterpret_cast<int32_t*>(status.data()),
                                          .scratch = scratch.data() + kGuard}));
  PENSTOCK_RETURN_IF_ERROR(device.CopyToHost(reinterpret_cast<std::byte*>(output.bytes.data()),
                                             out.data(), output.bytes.size(), ref));
  PENSTOCK_RETURN_IF_ERROR(device.CopyToHost(reinterpret_cast<std::byte*>(output.status.data()),
                                             status.data(), output.status.size() * sizeof(int32_t),
                                             ref));
  PENSTOCK_RETURN_IF_ERROR(
      device.CopyToHost(scratch_memory.data(), scratch.data(), scratch_memory.size(), ref));
  PENSTOCK_RETURN_IF_ERROR(device.Synchronize(ref));
  const auto guarded = [](std::byte byte) { return byte == kGuarded; };
  if (!std::all_of(scratch_memory.begin(), scratch_memory.begin() + kGuard, guarded) ||
      !std::all_of(scratch_memory.end() - kGuard, scratch_memory.end(), guarded)) {
    return absl::InternalError("bytes beside the scratch memory were written");
  }
  return output;
}

}  // namespace penstock
