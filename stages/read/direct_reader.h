// Reading past the page cache: straight from the device into the memory that the bytes are for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace penstock {

// What O_DIRECT asks of a file: multiples, in bytes, of offsets and lengths, and of addresses.
struct DirectAlignment {
  int64_t file = 4096, memory = 4096;
};

// Tried out on a descriptor that was opened with O_DIRECT. nullopt: no such reads there (some file
// systems accept the flag and then refuse).
std::optional<DirectAlignment> ProbeDirect(int descriptor);

// One read: [offset, offset + bytes) of the file, both aligned; [begin, end) of it is wanted, all
// in bytes of the file. `in_place`: it goes where it is wanted, else through a buffer of our own.
struct DirectPiece {
  int64_t offset = 0, bytes = 0;
  int64_t begin = 0, end = 0;
  bool in_place = false;
};

inline constexpr int64_t kDirectPieceBytes = int64_t{1} << 20;

// The reads that fill `to` from `offset` on: in place where file and memory agree modulo the
// alignment, but for what is not aligned at both ends. Small ranges are one read through a buffer.
std::vector<DirectPiece> CutPieces(int64_t offset, absl::Span<const std::byte> to,
                                   const DirectAlignment& alignment);

// One a thread; thread-compatible. Several pieces are in flight at once, by io_uring; where that is
// not to be had (old kernels, containers that forbid it), one after the other.
class DirectReader {
 public:
  enum class Engine : uint8_t { kRing, kPread };
  static constexpr int kDepth = 8;  // Pieces in flight.

  // kPread never tries the ring.
  explicit DirectReader(Engine wanted = Engine::kRing);
  DirectReader(const DirectReader&) = delete;
  DirectReader& operator=(const DirectReader&) = delete;
  ~DirectReader();

  // Fills `to` from `offset` on. `path` is for messages. DataLoss: the file ends before.
  absl::Status Read(int descriptor, const DirectAlignment& alignment, int64_t offset,
                    absl::Span<std::byte> to, const std::string& path);

  // What the last Read() used, and the most pieces that were ever in flight.
  Engine engine() const { return engine_; }
  int most_in_flight() const { return most_in_flight_; }

 private:
  struct Ring;
  struct Transfer {
    DirectPiece piece;
    int64_t done = 0;  // Bytes from piece.offset on.
    std::byte* address = nullptr;
    int slot = 0;
  };
  struct Job {
    int descriptor;
    DirectAlignment alignment;
    int64_t offset;
    absl::Span<std::byte> to;
    const std::string& path;
    std::vector<DirectPiece> pieces;
  };

  void StartRing();
  void StopRing();
  void GrowBuffers(const std::vector<DirectPiece>& pieces);
  Transfer Begin(const Job& job, size_t piece, int slot) const;
  absl::Status Advance(const Job& job, Transfer& transfer, int64_t result, bool& finished) const;
  static absl::Status Shortened(const Job& job);
  absl::Status ReadByPread(const Job& job);
  absl::Status ReadByRing(const Job& job);

  struct Free {
    void operator()(std::byte* buffer) const;
  };

  Engine engine_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<std::byte, Free> buffers_;  // kDepth of buffer_bytes_ each.
  int64_t buffer_bytes_ = 0;
  int most_in_flight_ = 0;
};

}  // namespace penstock
