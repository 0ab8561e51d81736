#include "penstock/scheduler/row_cache.h"

#include <algorithm>
#include <cstring>
#include <latch>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"

namespace penstock {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;  // Of rows, for one I/O job.

}  // namespace

RowCache::RowCache(const ExecutionPlan& plan, std::shared_ptr<Device> device, IoPool& io,
                   RunCounters& counters, std::stop_token stop)
    : plan_(plan),
      device_(std::move(device)),
      io_(io),
      counters_(counters),
      stop_(std::move(stop)) {
  for (const FixedField& fixed : plan.fixed) {
    fixed_.emplace_back(static_cast<size_t>(fixed.spec.bytes() * plan.cache.samples));
  }
}

absl::StatusOr<std::unique_ptr<RowCache>> RowCache::Fill(const ExecutionPlan& plan,
                                                         std::shared_ptr<Device> device, IoPool& io,
                                                         RunCounters& counters,
                                                         std::stop_token stop) {
  std::unique_ptr<RowCache> cache(
      new RowCache(plan, std::move(device), io, counters, std::move(stop)));
  if (plan.cache.map_file) {
    PENSTOCK_RETURN_IF_ERROR(cache->MapFile());
  } else if (plan.cache.place == CachePlace::kDevice) {
    PENSTOCK_RETURN_IF_ERROR(cache->FillDevice());
  } else {
    PENSTOCK_RETURN_IF_ERROR(cache->FillHost(
        plan.cache.place == CachePlace::kPinned ? HostMemory::kPinned : HostMemory::kPageable));
  }
  return cache;
}

absl::Status RowCache::MapFile() {
  const StoredRows rows = *plan_.source->stored_rows();
  PENSTOCK_ASSIGN_OR_RETURN(mapping_, FileMapping::Open(rows.file));
  const size_t end = static_cast<size_t>(rows.offset) + plan_.cache.bytes();
  if (mapping_.size() < end) {
    return absl::DataLossError(absl::StrCat(rows.file, ": ", mapping_.size(), " bytes, expected ",
                                            end, "; the file has become shorter"));
  }
  absl::StatusOr<Buffer> registered = device_->RegisterHost(mapping_.data(), mapping_.size());
  if (!registered.ok()) {  // Then it is read into memory that can be page-locked.
    mapping_ = FileMapping();
    return FillHost(HostMemory::kPinned);
  }
  memory_ = *std::move(registered);
  rows_ = reinterpret_cast<uint64_t>(mapping_.data()) + static_cast<uint64_t>(rows.offset);
  return absl::OkStatus();
}

absl::Status RowCache::FillHost(HostMemory memory) {
  PENSTOCK_ASSIGN_OR_RETURN(memory_, device_->AllocateHost(plan_.cache.bytes(), memory));
  rows_ = reinterpret_cast<uint64_t>(memory_.data());
  return Read(0, plan_.cache.samples, memory_.data());
}

// While one half of the stage goes up, the other is read.
absl::Status RowCache::FillDevice() {
  PENSTOCK_ASSIGN_OR_RETURN(memory_, device_->AllocateDevice(plan_.cache.bytes()));
  rows_ = reinterpret_cast<uint64_t>(memory_.data());
  const size_t pitch = plan_.cache.pitch;
  const int64_t a_half = plan_.cache.stage_rows;
  PENSTOCK_ASSIGN_OR_RETURN(const Buffer stage,
                            device_->AllocateHost(plan_.cache.stage_bytes(), HostMemory::kPinned));
  PENSTOCK_ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device_->CreateStream());
  std::shared_ptr<Event> copied[2];
  for (int64_t begin = 0, turn = 0; begin < plan_.cache.samples; begin += a_half, ++turn) {
    std::byte* const half = stage.data() + turn % 2 * a_half * pitch;
    std::shared_ptr<Event>& event = copied[turn % 2];
    if (event == nullptr) {
      PENSTOCK_ASSIGN_OR_RETURN(event, device_->AcquireEvent());
    }
    PENSTOCK_RETURN_IF_ERROR(event->Wait());
    const int64_t end = std::min(begin + a_half, plan_.cache.samples);
    PENSTOCK_RETURN_IF_ERROR(Read(begin, end, half));
    PENSTOCK_RETURN_IF_ERROR(device_->CopyToDevice(memory_.data() + begin * pitch, half,
                                                   (end - begin) * pitch, stream->ref()));
    PENSTOCK_RETURN_IF_ERROR(event->Record(stream->ref()));
  }
  return device_->Synchronize(stream->ref());
}

absl::Status RowCache::Read(int64_t begin, int64_t end, std::byte* to) {
  const int64_t rows = std::max<int64_t>(1, kBlockBytes / static_cast<int64_t>(plan_.cache.pitch));
  const int64_t blocks = (end - begin + rows - 1) / rows;
  std::latch left(static_cast<ptrdiff_t>(blocks));
  std::vector<IoPool::Job> jobs;
  for (int64_t first = begin; first < end; first += rows) {
    const Block block = {first, std::min(end, first + rows),
                         to + (first - begin) * static_cast<int64_t>(plan_.cache.pitch)};
    jobs.emplace_back([this, block, &left](FileReader& reader) {
      // What is behind a bad sample is nobody's business any more.
      if (!stop_.stop_requested() && block.begin < failed_id_) ReadBlock(block, reader);
      left.count_down();
    });
  }
  io_.Submit(std::move(jobs));
  left.wait();
  if (stop_.stop_requested()) {
    return absl::CancelledError("the pipeline was stopped while it filled a Cache");
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void RowCache::ReadBlock(const Block& block, FileReader& reader) {
  const bool whole_rows = plan_.source->stored_rows() &&
                          static_cast<int64_t>(plan_.cache.pitch) == plan_.chain.input.bytes();
  if (whole_rows && ReadStored(block, reader).ok()) return;
  // Or one of them is bad: which?
  std::vector<std::byte> bytes;
  Scratch scratch;
  for (int64_t id = block.begin; id < block.end; ++id) {
    std::byte* const row = block.to + (id - block.begin) * plan_.cache.pitch;
    const absl::Status status = ReadSample(id, row, bytes, scratch, reader);
    if (!status.ok()) return Fail(id, status);
  }
}

// Rows that lie side by side in the file as they do here.
absl::Status RowCache::ReadStored(const Block& block, FileReader& reader) {
  Extent extent = plan_.source->Locate(block.begin);
  extent.bytes = (block.end - block.begin) * static_cast<int64_t>(plan_.cache.pitch);
  counters_.bytes_read += *extent.bytes;
  return reader.Read(extent, absl::MakeSpan(block.to, static_cast<size_t>(*extent.bytes)));
}

absl::Status RowCache::ReadSample(int64_t id, std::byte* row, std::vector<std::byte>& bytes,
                                  Scratch& scratch, FileReader& reader) {
  const Extent extent = plan_.source->Locate(id);
  absl::Span<const std::byte> read = extent.memory.value_or(absl::Span<const std::byte>());
  if (!extent.memory) {
    PENSTOCK_ASSIGN_OR_RETURN(const int64_t size, reader.Measure(extent));
    bytes.resize(static_cast<size_t>(size));
    PENSTOCK_RETURN_IF_ERROR(reader.Read(extent, absl::MakeSpan(bytes)));
    read = bytes;
  }
  counters_.bytes_read += static_cast<int64_t>(read.size());
  Sample sample;
  sample.id = id;
  for (size_t i = 0; i < plan_.fixed.size(); ++i) {
    FieldView& view = sample.fields[plan_.fixed[i].field];
    view.bytes = plan_.fixed[i].spec.bytes();
    view.dtype = plan_.fixed[i].spec.dtype;
    view.address = reinterpret_cast<uint64_t>(fixed_[i].data() + id * view.bytes);
  }
  FieldView& field = sample.fields[plan_.field];
  field = WholeView(plan_.chain.input, row);
  SampleContext context(nullptr, &scratch);
  PENSTOCK_RETURN_IF_ERROR(plan_.source->Finish(read, sample, context));
  if (plan_.source->stored_rows()) std::memcpy(row, read.data(), read.size());
  if (sample.fields[plan_.field].bytes == plan_.chain.input.bytes()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(sample.fields[plan_.field].bytes, " bytes, expected ",
                                          plan_.chain.input.bytes()));
}

void RowCache::Fail(int64_t id, const absl::Status& status) {
  const std::lock_guard lock(failure_mutex_);
  if (failed_id_ <= id) return;
  failed_id_ = id;
  failure_ = Prefixed(
      absl::StrCat("node '", plan_.source_node, "', sample '", plan_.source->key(id), "'"), status);
}

}  // namespace penstock
