#include "penstock/stages/read/direct_reader.h"

#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/read/file_error.h"
#include "penstock/stages/read/printable.h"

namespace penstock {
namespace {

constexpr int64_t kPage = 4096;  // Enough for the buffers of any device.
// Below this, two more reads for the ends cost more than a copy.
constexpr int64_t kSmallRange = int64_t{64} << 10;

int64_t Down(int64_t n, int64_t alignment) { return n / alignment * alignment; }
int64_t Up(int64_t n, int64_t alignment) { return Down(n + alignment - 1, alignment); }

// Pieces for [begin, end) of the file, from the aligned offset at or before it.
void AddPieces(int64_t begin, int64_t end, bool in_place, int64_t alignment,
               std::vector<DirectPiece>& pieces) {
  for (int64_t at = Down(begin, alignment); at < end; at += kDirectPieceBytes) {
    const int64_t bytes = std::min(kDirectPieceBytes, Up(end, alignment) - at);
    pieces.push_back({at, bytes, std::max(at, begin), std::min(at + bytes, end), in_place});
  }
}

}  // namespace

// Reads across pages: some devices take any address as long as it is one piece of memory.
std::optional<DirectAlignment> ProbeDirect(int descriptor) {
  alignas(kPage) std::array<std::byte, 4 * kPage> buffer;
  for (const int64_t file : {512L, kPage}) {
    for (const int64_t memory : {4L, 512L, kPage}) {
      const auto bytes = static_cast<size_t>(kPage + file);
      if (pread(descriptor, buffer.data() + memory, bytes, file) >= 0) {
        return DirectAlignment{file, memory};
      }
    }
  }
  return std::nullopt;
}

std::vector<DirectPiece> CutPieces(int64_t offset, absl::Span<const std::byte> to,
                                   const DirectAlignment& alignment) {
  std::vector<DirectPiece> pieces;
  const int64_t end = offset + static_cast<int64_t>(to.size());
  const int64_t inner = Up(offset, alignment.file), inner_end = Down(end, alignment.file);
  const auto address = reinterpret_cast<uint64_t>(to.data()) + (inner - offset);
  const bool agree = address % alignment.memory == 0;
  if (!agree || end - offset <= kSmallRange) {
    AddPieces(offset, end, false, alignment.file, pieces);
    return pieces;
  }
  AddPieces(offset, inner, false, alignment.file, pieces);
  AddPieces(inner, inner_end, true, alignment.file, pieces);
  AddPieces(inner_end, end, false, alignment.file, pieces);
  return pieces;
}

struct DirectReader::Ring {
  io_uring ring;
  bool open = false;

  ~Ring() {
    if (open) io_uring_queue_exit(&ring);
  }
  // False: there is no io_uring, or one that is too old to read.
  bool Open() {
    open = io_uring_queue_init(kDepth, &ring, 0) == 0;
    io_uring_probe* const probe = open ? io_uring_get_probe_ring(&ring) : nullptr;
    if (probe == nullptr) return false;
    const bool reads = io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    io_uring_free_probe(probe);
    return reads;
  }
  // Waits for the end of `reads` that the kernel has begun.
  void Drain(int reads) {
    for (io_uring_cqe* entry = nullptr; reads > 0;) {
      if (io_uring_wait_cqe(&ring, &entry) != 0) continue;
      io_uring_cqe_seen(&ring, entry);
      --reads;
    }
  }
};

void DirectReader::Free::operator()(std::byte* buffer) const { std::free(buffer); }

DirectReader::DirectReader(Engine wanted) : engine_(wanted) {}

DirectReader::~DirectReader() = default;

void DirectReader::StartRing() {
  ring_ = std::make_unique<Ring>();
  if (!ring_->Open()) StopRing();
}

void DirectReader::StopRing() {
  ring_ = nullptr;
  engine_ = Engine::kPread;
}

void DirectReader::GrowBuffers(const std::vector<DirectPiece>& pieces) {
  int64_t wanted = buffer_bytes_;
  for (const DirectPiece& piece : pieces) {
    if (!piece.in_place) wanted = std::max(wanted, Up(piece.bytes, kPage));
  }
  if (wanted == buffer_bytes_) return;
  buffers_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kPage, static_cast<size_t>(kDepth * wanted))));
  buffer_bytes_ = buffers_ == nullptr ? 0 : wanted;
}

DirectReader::Transfer DirectReader::Begin(const Job& job, size_t piece, int slot) const {
  Transfer transfer;
  transfer.piece = job.pieces[piece];
  transfer.slot = slot;
  transfer.address = transfer.piece.in_place ? job.to.data() + (transfer.piece.offset - job.offset)
                                             : buffers_.get() + slot * buffer_bytes_;
  return transfer;
}

// By the file's size: pieces may find its end in any order.
absl::Status DirectReader::Shortened(const Job& job) {
  struct stat info;
  const int64_t size = fstat(job.descriptor, &info) == 0 ? info.st_size : job.offset;
  return ShortenedFile(job.path, std::max<int64_t>(0, size - job.offset), job.to.size(),
                       job.offset);
}

// What a read gave: the rest of the piece is asked for again, until the file's end shows.
absl::Status DirectReader::Advance(const Job& job, Transfer& transfer, int64_t result,
                                   bool& finished) const {
  const DirectPiece& piece = transfer.piece;
  finished = false;
  if (result == -EINTR || result == -EAGAIN) return absl::OkStatus();
  if (result < 0) return FileError(static_cast<int>(-result), job.path);
  const int64_t reached = piece.offset + transfer.done + result;
  if (reached < piece.end) {
    const int64_t whole = Down(result, job.alignment.file);
    transfer.done += whole;
    if (whole > 0) return absl::OkStatus();
    return Shortened(job);
  }
  finished = true;
  if (!piece.in_place) {
    std::memcpy(job.to.data() + (piece.begin - job.offset),
                transfer.address + (piece.begin - piece.offset),
                static_cast<size_t>(piece.end - piece.begin));
  }
  return absl::OkStatus();
}

absl::Status DirectReader::ReadByPread(const Job& job) {
  for (size_t i = 0; i < job.pieces.size(); ++i) {
    Transfer transfer = Begin(job, i, 0);
    most_in_flight_ = std::max(most_in_flight_, 1);
    for (bool finished = false; !finished;) {
      const DirectPiece& piece = transfer.piece;
      const ssize_t n =
          pread(job.descriptor, transfer.address + transfer.done,
                static_cast<size_t>(piece.bytes - transfer.done), piece.offset + transfer.done);
      PENSTOCK_RETURN_IF_ERROR(Advance(job, transfer, n < 0 ? -errno : n, finished));
    }
  }
  return absl::OkStatus();
}

absl::Status DirectReader::ReadByRing(const Job& job) {
  io_uring* const ring = &ring_->ring;
  std::array<Transfer, kDepth> transfers;
  std::array<int, kDepth> free_slots;
  int free = 0, in_flight = 0, in_kernel = 0;
  for (int slot = kDepth; slot-- > 0;) free_slots[free++] = slot;
  const auto ask = [&](Transfer& transfer) {
    io_uring_sqe* const entry = io_uring_get_sqe(ring);  // There are as many as slots.
    io_uring_prep_read(entry, job.descriptor, transfer.address + transfer.done,
                       static_cast<unsigned>(transfer.piece.bytes - transfer.done),
                       static_cast<uint64_t>(transfer.piece.offset + transfer.done));
    io_uring_sqe_set_data(entry, &transfer);
    ++in_flight;
  };
  absl::Status status;
  size_t next = 0;
  // After a failure, too, what is in flight is waited for: it writes into our memory.
  while (in_flight > 0 || (status.ok() && next < job.pieces.size())) {
    while (status.ok() && next < job.pieces.size() && free > 0) {
      const int slot = free_slots[--free];
      ask(transfers[slot] = Begin(job, next++, slot));
    }
    most_in_flight_ = std::max(most_in_flight_, in_flight);
    const int submitted = io_uring_submit_and_wait(ring, 1);
    in_kernel += std::max(0, submitted);
    if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
      ring_->Drain(in_kernel);
      StopRing();
      return ReadByPread(job);
    }
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(ring, &entry) == 0) {
      auto& transfer = *static_cast<Transfer*>(io_uring_cqe_get_data(entry));
      const int64_t result = entry->res;
      io_uring_cqe_seen(ring, entry);
      --in_flight;
      --in_kernel;
      bool finished = false;
      absl::Status step = Advance(job, transfer, result, finished);
      if (status.ok()) status = std::move(step);
      if (!finished && status.ok()) {
        ask(transfer);
      } else {
        free_slots[free++] = transfer.slot;
      }
    }
  }
  return status;
}

absl::Status DirectReader::Read(int descriptor, const DirectAlignment& alignment, int64_t offset,
                                absl::Span<std::byte> to, const std::string& path) {
  if (engine_ == Engine::kRing && ring_ == nullptr) StartRing();
  const Job job = {descriptor, alignment, offset, to, path, CutPieces(offset, to, alignment)};
  GrowBuffers(job.pieces);
  if (buffers_ == nullptr && buffer_bytes_ == 0 &&
      std::any_of(job.pieces.begin(), job.pieces.end(),
                  [](const DirectPiece& piece) { return !piece.in_place; })) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Printable(path), ": no memory for the buffers of direct reads"));
  }
  return engine_ == Engine::kRing ? ReadByRing(job) : ReadByPread(job);
}

}  // namespace penstock
