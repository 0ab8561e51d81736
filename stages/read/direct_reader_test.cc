#include "penstock/stages/read/direct_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "penstock/stages/read/temp_folder.h"

namespace penstock {
namespace {

using Engine = DirectReader::Engine;

constexpr int64_t kFileBytes = (int64_t{10} << 20) + 1234;
constexpr char kUntouched = '\xCD';

// Byte `at` of the file: different from its neighbours, and from those 512 or 4096 away.
char Value(int64_t at) { return static_cast<char>(at * 7 + (at >> 9) * 31 + (at >> 12) * 101); }

// Memory at any distance from a page.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : pages_(static_cast<char*>(std::aligned_alloc(4096, (bytes + 8191) / 4096 * 4096))) {
    std::fill_n(pages_.get(), bytes, kUntouched);
  }
  char* at(int64_t offset) const { return pages_.get() + offset; }
  absl::Span<std::byte> Span(int64_t offset, int64_t bytes) const {
    return {reinterpret_cast<std::byte*>(at(offset)), static_cast<size_t>(bytes)};
  }

 private:
  struct Free {
    void operator()(char* pages) const { std::free(pages); }
  };
  std::unique_ptr<char, Free> pages_;
};

class DirectReaderTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    std::string content(kFileBytes, '\0');
    for (int64_t at = 0; at < kFileBytes; ++at) content[at] = Value(at);
    path_ = folder_.Write("data", content);
    fd_ = open(path_.c_str(), O_RDONLY | O_DIRECT);
    // Where there are no direct reads, the cut and the copies are tested all the same.
    if (fd_ < 0 || !ProbeDirect(fd_)) fd_ = open(path_.c_str(), O_RDONLY);
    ASSERT_GE(fd_, 0);
    alignment_ = ProbeDirect(fd_).value_or(DirectAlignment());
  }
  void TearDown() override { close(fd_); }

  // Reads into memory that is `distance` from a page, and checks every byte and both neighbours.
  void Check(DirectReader& reader, int64_t offset, int64_t bytes, int64_t distance) {
    const Pages pages(bytes + distance + 1);
    pages.at(0)[distance + bytes] = kUntouched;
    ASSERT_EQ(reader.Read(fd_, alignment_, offset, pages.Span(distance, bytes), path_),
              absl::OkStatus())
        << bytes << " bytes at " << offset << ", distance " << distance;
    if (distance > 0) {
      ASSERT_EQ(pages.at(distance)[-1], kUntouched);
    }
    ASSERT_EQ(pages.at(distance)[bytes], kUntouched);
    for (int64_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(pages.at(distance)[i], Value(offset + i))
          << "byte " << i << " of " << bytes << " at " << offset << ", distance " << distance;
    }
  }

  const TempFolder folder_;
  std::string path_;
  int fd_ = -1;
  DirectAlignment alignment_;
};

TEST_P(DirectReaderTest, EveryResidueOfOffsets) {
  DirectReader reader(GetParam());
  constexpr int64_t kBytes = 70000;  // Above what is read in one go.
  for (int64_t offset = 0; offset < 4096 + 3; ++offset) {
    Check(reader, offset, 1 + offset % 97, 0);
    if (offset % 16 == 0) Check(reader, offset, kBytes, offset % 4096);        // They agree,
    if (offset % 16 == 1) Check(reader, offset, kBytes + offset, offset % 7);  // or do not.
  }
}

TEST_P(DirectReaderTest, EveryResidueOfEndsAndLargeRanges) {
  DirectReader reader(GetParam());
  for (int64_t bytes = 66000; bytes < 66000 + 4097; bytes += 9) Check(reader, 4000, bytes, 4000);
  for (const int64_t distance : {0, 1, 4, 128, 512}) {
    Check(reader, 128, kFileBytes - 128, distance);  // To the very end, which is not aligned.
    Check(reader, 0, kFileBytes, distance);
    Check(reader, 4096, kDirectPieceBytes, distance);
    Check(reader, 4095, 3 * kDirectPieceBytes + 2, distance);
  }
  Check(reader, kFileBytes - 1, 1, 5);
  Check(reader, 17, 0, 5);
}

// Whether the kernel gives this process a ring.
bool HaveRing() {
  io_uring_params params{};
  const int64_t fd = syscall(SYS_io_uring_setup, 1, &params);
  if (fd >= 0) close(static_cast<int>(fd));
  return fd >= 0;
}

TEST_P(DirectReaderTest, SeveralPiecesAreInFlight) {
  DirectReader reader(GetParam());
  Check(reader, 128, 9 << 20, 0);
  EXPECT_EQ(reader.engine() == Engine::kRing, GetParam() == Engine::kRing && HaveRing());
  if (reader.engine() == Engine::kRing) {
    EXPECT_EQ(reader.most_in_flight(), DirectReader::kDepth);
  } else {
    EXPECT_EQ(reader.most_in_flight(), 1);
  }
}

TEST_P(DirectReaderTest, FilesThatEndBefore) {
  DirectReader reader(GetParam());
  for (const int64_t bytes : {1234L + 100, 100000L, 3L << 20}) {
    const Pages pages(bytes);
    const int64_t offset = kFileBytes - 1234;
    EXPECT_EQ(
        reader.Read(fd_, alignment_, offset, pages.Span(0, bytes), path_),
        absl::DataLossError(path_ + ": 1234 of " + std::to_string(bytes) + " bytes at offset " +
                            std::to_string(offset) + "; the file has become shorter"));
    const absl::Status beyond =
        reader.Read(fd_, alignment_, kFileBytes + 9000, pages.Span(0, 100), path_);
    EXPECT_EQ(beyond.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(beyond.message()), ::testing::HasSubstr(": 0 of 100 bytes"));
  }
  Check(reader, 100, 100000, 0);  // It still works.
}

TEST_P(DirectReaderTest, ErrorsNameTheFile) {
  DirectReader reader(GetParam());
  const Pages pages(1 << 20);
  const int writable_only = open(path_.c_str(), O_WRONLY);
  EXPECT_EQ(reader.Read(writable_only, alignment_, 0, pages.Span(0, 1 << 20), path_).message(),
            path_ + ": Bad file descriptor");
  close(writable_only);
}

INSTANTIATE_TEST_SUITE_P(Engines, DirectReaderTest,
                         ::testing::Values(Engine::kRing, Engine::kPread), [](const auto& info) {
                           return info.param == Engine::kRing ? "Ring" : "Pread";
                         });

// What is asked of the kernel is aligned, and lands in place where it can.
TEST(CutPiecesTest, AlignedAndWithoutGaps) {
  for (const DirectAlignment& alignment :
       {DirectAlignment{512, 4}, DirectAlignment{512, 512}, DirectAlignment{4096, 4096}}) {
    for (int64_t offset = 0; offset < 9000; offset += 61) {
      for (int64_t distance = 0; distance < 5000; distance += 127) {
        const auto* to = reinterpret_cast<const std::byte*>(uint64_t{1} << 30) + distance;
        const int64_t bytes = 60000 + 13 * offset;
        const auto pieces = CutPieces(offset, {to, static_cast<size_t>(bytes)}, alignment);
        int64_t at = offset, in_place = 0;
        for (const DirectPiece& piece : pieces) {
          ASSERT_EQ(piece.offset % alignment.file, 0);
          ASSERT_EQ(piece.bytes % alignment.file, 0);
          ASSERT_LE(piece.bytes, kDirectPieceBytes);
          ASSERT_EQ(piece.begin, at);
          ASSERT_LE(piece.offset, piece.begin);
          ASSERT_LE(piece.end, piece.offset + piece.bytes);
          at = piece.end;
          if (!piece.in_place) continue;
          in_place += piece.bytes;
          ASSERT_EQ(piece.begin, piece.offset);
          ASSERT_EQ(piece.end, piece.offset + piece.bytes);
          ASSERT_EQ((reinterpret_cast<uint64_t>(to) + (piece.offset - offset)) % alignment.memory,
                    0u);
        }
        ASSERT_EQ(at, offset + bytes);
        const bool agree = (distance - offset) % alignment.memory == 0;
        ASSERT_EQ(in_place > 0, agree && bytes > (64 << 10));
        if (in_place > 0) {
          ASSERT_GT(in_place, bytes - 2 * alignment.file);
        }
      }
    }
  }
}

TEST(ProbeDirectTest, MemoryFilesMayRefuse) {
  const int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
  if (fd < 0) GTEST_SKIP() << "no direct reads on this tmpfs, or none at all";
  EXPECT_TRUE(ProbeDirect(fd).has_value());  // A kernel that takes the flag keeps its promise.
  close(fd);
}

}  // namespace
}  // namespace penstock
