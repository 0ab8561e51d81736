#include "penstock/stages/testing/gather_runner.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "penstock/memory/check.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

constexpr int64_t kKept = 7;        // Rows.
constexpr size_t kAround = 64;      // Untouched bytes around each range that is written.
constexpr size_t kAlignment = 256;  // Of outputs, but for out_shift.
constexpr uint8_t kUntouched = 0xAB;
constexpr DrawKey kDraws = {.seed = 3, .epoch = 2};

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

void FillWithNoise(std::byte* to, size_t bytes, uint32_t seed) {
  for (size_t i = 0; i < bytes; ++i) {
    to[i] = static_cast<std::byte>((i + seed) * 2654435761U >> 13);
  }
}

// Far from the order in which they are kept; some twice.
int64_t SampleOf(size_t batch, int32_t row) {
  return 5 * int64_t{row} + 3 * static_cast<int64_t>(batch) + 2;
}

}  // namespace

absl::StatusOr<GatherChain> GatherChain::Create(const FieldSpec& input,
                                                const std::vector<StageText>& stages) {
  GatherChain chain;
  SampleSpec spec = {{input}};
  chain.specs_ = {input};
  for (const StageText& text : stages) {
    const Registry::Entry* entry = Registry::Default().Find(text.name);
    PENSTOCK_CHECK(entry != nullptr && entry->sample, text.name);
    const std::unique_ptr<google::protobuf::Message> options(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(entry->options)->New());
    PENSTOCK_CHECK(google::protobuf::TextFormat::ParseFromString(text.options, options.get()),
                   text.options);
    const std::shared_ptr<SampleStage> stage = entry->sample();
    PENSTOCK_RETURN_IF_ERROR(stage->Init(*options));
    PENSTOCK_RETURN_IF_ERROR(stage->Infer(spec));
    chain.names_.push_back(text.name);
    chain.stages_.push_back(stage);
    chain.specs_.push_back(spec.fields[0]);
  }
  return chain;
}

absl::StatusOr<std::unique_ptr<GatherStage>> GatherChain::MakeForm(DeviceKind kind) const {
  const Registry::GatherEntry* entry = Registry::Default().FindGatherForm(kind, names_);
  if (entry == nullptr) return absl::NotFoundError(absl::StrJoin(names_, "+"));
  std::vector<const SampleStage*> host;
  for (const auto& stage : stages_) host.push_back(stage.get());
  return entry->make(host);
}

absl::StatusOr<GatherChain::Params> GatherChain::Resolve(const std::vector<int64_t>& ids) const {
  Params params;
  for (const auto& stage : stages_) {
    params.offsets.push_back(params.stride);
    params.stride += stage->params_bytes();
  }
  params.bytes.resize(params.stride * ids.size() + 1);  // Never empty: somebody points into it.
  for (size_t i = 0; i < stages_.size(); ++i) {
    const NodeDraws draws(kDraws.seed, kDraws.epoch, RandomKey(names_[i]));
    const RowsStatus resolved =
        stages_[i]->ResolveRows(specs_[i].size(), specs_[i + 1].size(), draws, ids,
                                params.bytes.data() + params.offsets[i], params.stride);
    PENSTOCK_RETURN_IF_ERROR(resolved.status);
  }
  return params;
}

struct GatherRunner::Layout {
  struct Batch {
    size_t entries = 0, out = 0;  // Offsets.
    std::vector<size_t> carries;  // Likewise, of where they go.
  };
  size_t entries = 0, out = 0;  // Bytes.
  std::vector<Batch> batches;

  Layout(const GatherCase& c, size_t entry_bytes, size_t row_bytes) {
    for (const int32_t count : c.counts) {
      Batch& batch = batches.emplace_back();
      batch.entries = std::exchange(entries, entries + count * entry_bytes);
      batch.out = RoundUp(out + kAround, kAlignment) + c.out_shift;
      out = batch.out + count * row_bytes + kAround;
      for (const size_t bytes : c.carries) {
        batch.carries.push_back(out);
        out += bytes + kAround;
      }
    }
  }
};

absl::StatusOr<std::vector<uint8_t>> GatherRunner::Run(const GatherChain& chain,
                                                       const GatherCase& c) {
  if (stream_ == nullptr) {
    PENSTOCK_ASSIGN_OR_RETURN(stream_, device_->CreateStream());
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<GatherStage> form,
                            chain.MakeForm(device_->kind()));
  PENSTOCK_RETURN_IF_ERROR(form->Prepare(chain.specs()));
  const size_t pitch = static_cast<size_t>(chain.specs().front().bytes()) + c.gap;
  PENSTOCK_RETURN_IF_ERROR(KeepRows(c.shift + kKept * pitch, c.rows_on_host));
  Layout layout(c, form->entry_bytes(), static_cast<size_t>(chain.specs().back().bytes()));
  PENSTOCK_RETURN_IF_ERROR(PackEntries(chain, *form, c, layout));

  std::vector<uint8_t> result(layout.out, kUntouched);
  auto* const bytes = reinterpret_cast<std::byte*>(result.data());
  PENSTOCK_RETURN_IF_ERROR(Grow(out_, layout.out, /*on_host=*/false));
  PENSTOCK_RETURN_IF_ERROR(device_->CopyToDevice(out_.data(), bytes, layout.out, stream_->ref()));
  size_t carried = 1;  // An odd address.
  for (const size_t size : c.carries) carried += size;
  PENSTOCK_RETURN_IF_ERROR(Grow(labels_, carried + c.counts.size(), /*on_host=*/true));
  FillWithNoise(labels_.data(), labels_.size(), 77);

  std::vector<std::vector<Carry>> carries;
  std::vector<GatherBatch> batches;
  for (size_t b = 0; b < c.counts.size(); ++b) {
    std::vector<Carry>& list = carries.emplace_back();
    const std::byte* from = labels_.data() + 1 + b;  // Of other bytes than the last batch's.
    for (size_t i = 0; i < c.carries.size(); ++i) {
      list.push_back({out_.data() + layout.batches[b].carries[i], from, c.carries[i]});
      from += c.carries[i];
    }
    const std::byte* entries = (c.entries_on_device ? entries_ : host_entries_).data();
    batches.push_back({.entries = entries + layout.batches[b].entries,
                       .count = c.counts[b],
                       .out = out_.data() + layout.batches[b].out,
                       .carries = list});
  }
  PENSTOCK_RETURN_IF_ERROR(
      form->Enqueue({.device = *device_, .stream = stream_->ref(), .batches = batches}));
  PENSTOCK_RETURN_IF_ERROR(device_->CopyToHost(bytes, out_.data(), layout.out, stream_->ref()));
  PENSTOCK_RETURN_IF_ERROR(device_->Synchronize(stream_->ref()));
  return result;
}

absl::Status GatherRunner::Grow(Buffer& buffer, size_t bytes, bool on_host) {
  bytes = AlignUp(std::max<size_t>(bytes, 1), 16);  // Forms read whole words.
  if (buffer.size() >= bytes + 16) return absl::OkStatus();
  buffer.Reset();
  PENSTOCK_ASSIGN_OR_RETURN(buffer, on_host
                                        ? device_->AllocateHost(2 * bytes + 16, HostMemory::kPinned)
                                        : device_->AllocateDevice(2 * bytes + 16));
  return absl::OkStatus();
}

absl::Status GatherRunner::KeepRows(size_t bytes, bool on_host) {
  PENSTOCK_RETURN_IF_ERROR(Grow(host_rows_, bytes, /*on_host=*/true));
  FillWithNoise(host_rows_.data(), bytes, 0);
  if (on_host) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(Grow(rows_, bytes, /*on_host=*/false));
  return device_->CopyToDevice(rows_.data(), host_rows_.data(), bytes, stream_->ref());
}

absl::Status GatherRunner::PackEntries(const GatherChain& chain, const GatherStage& form,
                                       const GatherCase& c, Layout& layout) {
  PENSTOCK_RETURN_IF_ERROR(Grow(host_entries_, layout.entries, /*on_host=*/true));
  const auto rows =
      reinterpret_cast<uint64_t>((c.rows_on_host ? host_rows_ : rows_).data()) + c.shift;
  const size_t pitch = static_cast<size_t>(chain.specs().front().bytes()) + c.gap;
  for (size_t b = 0; b < c.counts.size(); ++b) {
    std::vector<int64_t> ids;
    std::vector<uint64_t> addresses;
    for (int32_t row = 0; row < c.counts[b]; ++row) {
      ids.push_back(SampleOf(b, row));
      addresses.push_back(rows + ids.back() % kKept * pitch);
    }
    PENSTOCK_ASSIGN_OR_RETURN(const GatherChain::Params params, chain.Resolve(ids));
    form.Pack(addresses, params.rows(), host_entries_.data() + layout.batches[b].entries);
  }
  if (!c.entries_on_device) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(Grow(entries_, layout.entries, /*on_host=*/false));
  return device_->CopyToDevice(entries_.data(), host_entries_.data(), layout.entries,
                               stream_->ref());
}

}  // namespace penstock
