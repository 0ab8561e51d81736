#include "penstock/tests/testing/fake_stages.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock::testing {

absl::Status ReadFakeSource::Init() {
  if (options().count() > 0 || options().allow_empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("count must be positive");
}

SampleSpec ReadFakeSource::fields() const {
  return {{FieldSpec::Encoded("image"), FieldSpec::Scalar("label", kInt64)}};
}

Extent ReadFakeSource::Locate(int64_t id) const {
  return {absl::StrCat(options().root(), "/", key(id)), 0, std::nullopt, std::nullopt};
}

absl::Status ReadFakeSource::Finish(absl::Span<const std::byte> bytes, Sample& sample,
                                    SampleContext&) const {
  if (bytes.size() < kFakeHeaderBytes) {
    return absl::DataLossError(
        absl::StrCat("truncated header: ", bytes.size(), " of ", kFakeHeaderBytes, " bytes"));
  }
  sample.fields[0].address = reinterpret_cast<uint64_t>(bytes.data());
  sample.fields[0].bytes = static_cast<int64_t>(bytes.size());
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  *sample.fields[1].data<int64_t>() = p[6] | p[7] << 8;
  return absl::OkStatus();
}

void PushQueue::Push(std::string bytes) {
  {
    const std::lock_guard lock(mutex_);
    samples_.push_back(std::move(bytes));
  }
  Notify();
}

void PushQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  Notify();
}

int64_t PushQueue::released() const {
  const std::lock_guard lock(mutex_);
  return released_;
}

void PushQueue::Notify() {
  const std::lock_guard lock(listener_mutex_);
  if (listener_) listener_();
}

Extent ReadPushedSource::Locate(int64_t id) const {
  const std::lock_guard lock(queue_->mutex_);
  const std::string& bytes = queue_->samples_[id];
  return {"", 0, std::nullopt,
          absl::MakeSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size())};
}

absl::Status ReadPushedSource::Finish(absl::Span<const std::byte> bytes, Sample& sample,
                                      SampleContext&) const {
  sample.tag = absl::StrCat("tag ", sample.id);
  sample.fields[0].address = reinterpret_cast<uint64_t>(bytes.data());
  sample.fields[0].bytes = static_cast<int64_t>(bytes.size());
  return absl::OkStatus();
}

int64_t ReadPushedSource::arrived() const {
  const std::lock_guard lock(queue_->mutex_);
  return static_cast<int64_t>(queue_->samples_.size());
}

bool ReadPushedSource::closed() const {
  const std::lock_guard lock(queue_->mutex_);
  return queue_->closed_;
}

void ReadPushedSource::SetListener(std::function<void()> listener) {
  const std::lock_guard lock(queue_->listener_mutex_);
  queue_->listener_ = std::move(listener);
}

void ReadPushedSource::Release(int64_t) const {
  const std::lock_guard lock(queue_->mutex_);
  ++queue_->released_;
}

absl::Status DecodeFakeStage::Infer(FieldSpec& field) const {
  if (!field.encoded) return absl::InvalidArgumentError("expects an encoded field");
  field = FieldSpec::Image(field.name, {});
  return absl::OkStatus();
}

Place DecodeFakeStage::place() const {
  if (options().device() == DecodeFake::HOST) return Place::kHost;
  return options().device() == DecodeFake::DEVICE ? Place::kDevice : Place::kAuto;
}

absl::Status DecodeFakeStage::Probe(const FieldView& encoded, ImageSize& size) const {
  const uint8_t* p = encoded.data<uint8_t>();
  if (p[0] != 'P') return absl::DataLossError("not a fake image");
  size = {p[2] | p[3] << 8, p[4] | p[5] << 8};
  const int64_t wanted = kFakeHeaderBytes + int64_t{3} * size.height * size.width;
  if (encoded.bytes >= wanted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("truncated: ", encoded.bytes, " of ", wanted, " bytes"));
}

absl::Status DecodeFakeStage::Process(const NoParams&, const FieldView& in, const FieldView& out,
                                      SampleContext&) const {
  const uint8_t* p = in.data<uint8_t>();
  if (options().has_fail_on_label() && options().fail_on_label() == (p[6] | p[7] << 8)) {
    return absl::DataLossError("asked to fail");
  }
  if (p[1] == kFakeBroken) return absl::DataLossError("broken");
  const int width = p[4] | p[5] << 8;
  const Region& r = out.region;
  for (int y = r.y; y < r.y + r.height; ++y) {
    const uint8_t* from = p + kFakeHeaderBytes + (int64_t{y} * width + r.x) * 3;
    uint8_t* to = out.at(y, r.x);
    for (int i = 0; i < r.width * 3; ++i) to[i] = from[i] ^ 0x5A;
  }
  return absl::OkStatus();
}

void FakeDecoderLog::Add(int rows) {
  const std::lock_guard lock(mutex_);
  rows_by_call_.push_back(rows);
}

std::vector<int> FakeDecoderLog::rows_by_call() const {
  const std::lock_guard lock(mutex_);
  return rows_by_call_;
}

bool DecodeFakeSim::Describe(const FieldView& encoded, ImageSize, std::byte* descriptor) const {
  std::memset(descriptor, 0, descriptor_bytes());
  std::memcpy(descriptor, encoded.data(), kFakeHeaderBytes);
  return encoded.data<uint8_t>()[1] != kFakeRefused;
}

size_t DecodeFakeSim::scratch_bytes(int64_t batch) const {
  return host<0>().scratch_a_line() > 0 ? static_cast<size_t>(batch) : 0;
}

size_t DecodeFakeSim::row_scratch_bytes(const RowShape& row) const {
  const auto* header = reinterpret_cast<const uint8_t*>(row.descriptor);
  return host<0>().scratch_a_line() * (header[2] | header[3] << 8) +
         host<0>().scratch_a_line_above() * row.regions[1].y;
}

absl::Status DecodeFakeSim::Enqueue(const DeviceCall& call) const {
  auto& sim = static_cast<SimDevice&>(call.device);
  size_t scratch = scratch_bytes(call.count);
  for (int32_t i = 0; i < call.count; ++i) {
    const std::byte* descriptors = call.descriptors.host;
    const int32_t row = call.rows.host[i];
    const Region regions[] = {call.in().host[row].region, call.out().host[row].region};
    scratch += row_scratch_bytes({descriptors + row * descriptor_bytes(), regions});
  }
  if (reinterpret_cast<uint64_t>(call.scratch) % 256 != 0) {
    return absl::InternalError("the scratch memory is not aligned");
  }
  FakeDecoderLog* const seen = log;
  if (seen != nullptr) seen->Add(call.count);
  return sim.Launch(call.stream, [this, call, seen, scratch, in = call.in(), out = call.out()] {
    const Table<FieldView> views[] = {in, out};
    DeviceCall lasting = call;
    lasting.views = views;
    if (seen != nullptr && seen->on_kernel) seen->on_kernel();
    for (int32_t i = 0; i < call.count; ++i) DecodeRow(call.rows.device[i], lasting);
    if (scratch > 0) std::memset(call.scratch, 0xEE, scratch);
  });
}

void DecodeFakeSim::DecodeRow(int32_t row, const DeviceCall& call) const {
  const FieldView& out = call.out().device[row];
  const auto* header =
      reinterpret_cast<const uint8_t*>(call.descriptors.device + row * descriptor_bytes());
  const bool right = std::memcmp(header, call.in().device[row].data(), kFakeHeaderBytes) == 0;
  const bool wants_end = out.region.y + out.region.height == (header[2] | header[3] << 8);
  SampleContext context(nullptr, nullptr);
  if (right && (header[1] == kFakeGood || (header[1] == kFakeDamagedBelow && !wants_end)) &&
      host<0>().Process(NoParams(), call.in().device[row], out, context).ok()) {
    return;
  }
  std::memset(out.data(), 0xDD, static_cast<size_t>(out.bytes));
  call.status[row] = 1;
}

absl::Status CropFakeStage::Init() {
  if (options().height() > 0 && options().width() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("height is ", options().height(), ", expected at least 1"));
}

absl::Status CropFakeStage::Infer(FieldSpec& field) const {
  field.set_size(
      {static_cast<int32_t>(options().height()), static_cast<int32_t>(options().width())});
  return absl::OkStatus();
}

absl::StatusOr<Offset> CropFakeStage::Resolve(ImageSize& size, Random& random) const {
  const ImageSize out = {static_cast<int32_t>(options().height()),
                         static_cast<int32_t>(options().width())};
  if (size.height < out.height || size.width < out.width) {
    return absl::FailedPreconditionError(
        absl::StrCat("image of ", size.height, "x", size.width, " is smaller than the crop"));
  }
  const Offset offset = {random.Uniform(size.height - out.height + 1),
                         random.Uniform(size.width - out.width + 1)};
  size = out;
  return offset;
}

absl::Status CropFakeStage::Process(const Offset& offset, const FieldView& in, const FieldView& out,
                                    SampleContext&) const {
  const Region& r = out.region;
  for (int y = r.y; y < r.y + r.height; ++y) {
    std::memcpy(out.at(y, r.x), in.at(offset.y + y, offset.x + r.x),
                static_cast<size_t>(r.width) * 3);
  }
  return absl::OkStatus();
}

absl::Status AddToBatchStage::Process(HostBatch& batch, Random&) const {
  TensorView& image = batch.tensors[0].second;
  for (int64_t i = 0; i < image.items(); ++i) {
    image.as<uint8_t>()[i] = static_cast<uint8_t>(image.as<uint8_t>()[i] + options().amount());
  }
  return absl::OkStatus();
}

Registry MakeTestRegistry(const std::shared_ptr<PushQueue>& queue) {
  Registry registry = Registry::Default();
  registry.Add<ReadFakeSource>();
  registry.Add<DecodeFakeStage>();
  registry.Add<DecodeFakeSim>();
  registry.Add<CropFakeStage>();
  registry.Add<SimForm<CropFakeStage>>();
  registry.Add<AddToBatchStage>();
  if (queue != nullptr) {
    registry.AddSource(ReadPushed::descriptor(),
                       [queue] { return std::make_unique<ReadPushedSource>(queue); });
  }
  return registry;
}

}  // namespace penstock::testing
