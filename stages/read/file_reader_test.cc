#include "penstock/stages/read/file_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "penstock/stages/read/page_cache.h"
#include "penstock/stages/read/temp_folder.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::string> ReadText(FileReader& reader, const Extent& extent, size_t bytes) {
  std::string text(bytes, '?');
  absl::Status status =
      reader.Read(extent, absl::MakeSpan(reinterpret_cast<std::byte*>(text.data()), bytes));
  if (!status.ok()) return status;
  return text;
}

ptrdiff_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(FileReaderTest, ReadsWholeFilesAndParts) {
  const TempFolder folder;
  FileReader reader;
  const Extent whole{.file = folder.Write("a", "0123456789")};
  EXPECT_EQ(*reader.Measure(whole), 10);
  EXPECT_EQ(*ReadText(reader, whole, 10), "0123456789");
  const Extent tail{.file = whole.file, .offset = 7};
  EXPECT_EQ(*reader.Measure(tail), 3);
  EXPECT_EQ(*ReadText(reader, tail, 3), "789");
  const Extent part{.file = whole.file, .offset = 2, .bytes = 4};
  EXPECT_EQ(*reader.Measure(part), 4);
  EXPECT_EQ(*ReadText(reader, part, 4), "2345");
  const Extent empty{.file = folder.Write("empty", "")};
  EXPECT_EQ(*reader.Measure(empty), 0);
  EXPECT_EQ(*ReadText(reader, empty, 0), "");
}

TEST(FileReaderTest, ErrorsNameTheFileAndTheReason) {
  const TempFolder folder;
  FileReader reader;
  const Extent missing{.file = folder / "no\xFF.jpg"};
  for (const absl::Status& status :
       {reader.Measure(missing).status(), ReadText(reader, missing, 1).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(status.message(), folder / R"(no\xff.jpg: No such file or directory)");
  }
  folder.MakeFolder("sub");
  for (const absl::Status& status : {reader.Measure({.file = folder / "sub"}).status(),
                                     ReadText(reader, {.file = folder / "sub"}, 1).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), folder / "sub: Is a directory");
  }
  // A named pipe does not make the thread wait.
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(std::string(reader.Measure({.file = folder / "pipe"}).status().message()),
              HasSubstr("not a regular file"));
  EXPECT_FALSE(ReadText(reader, {.file = folder / "pipe"}, 1).ok());
}

TEST(FileReaderTest, UnreadableFile) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TempFolder folder;
  const std::string file = folder.Write("a");
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  FileReader reader;
  EXPECT_EQ(ReadText(reader, {.file = file}, 1).status(),
            absl::PermissionDeniedError(file + ": Permission denied"));
}

// InvalidArgument is for graphs; errno's EINVAL and ENAMETOOLONG would be that.
TEST(FileReaderTest, ErrorsAreNeverInvalidArgument) {
  for (int number = 1; number < 134; ++number) {
    EXPECT_NE(FileError(number, "x").code(), absl::StatusCode::kInvalidArgument) << number;
  }
}

TEST(FileReaderTest, ShortenedFile) {
  const TempFolder folder;
  const std::string file = folder.Write("a", "0123456789");
  FileReader reader;
  EXPECT_EQ(ReadText(reader, {.file = file, .offset = 4, .bytes = 8}, 8).status(),
            absl::DataLossError(file + ": 6 of 8 bytes at offset 4; the file has become shorter"));
  EXPECT_EQ(reader.Measure({.file = file, .offset = 11}).status(),
            absl::DataLossError(file + ": 10 bytes, expected at least 11"));
}

// For each descriptor of `path` that this process has: whether it reads past the page cache.
std::multiset<bool> OpenDirect(const std::string& path) {
  std::multiset<bool> direct;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) != std::filesystem::canonical(path)) continue;
    direct.insert((fcntl(std::stoi(entry.path().filename()), F_GETFL) & O_DIRECT) != 0);
  }
  return direct;
}

// Whether the files of tests lie where O_DIRECT works.
bool HaveDirect(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECT);
  const bool have = fd >= 0 && ProbeDirect(fd).has_value();
  close(fd);
  return have;
}

TEST(FileReaderTest, WaysOfReadingGiveTheSameBytes) {
  const TempFolder folder;
  std::string content(300000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 512);
  const std::string file = folder.Write("a", content);
  for (const FileAccess access : {FileAccess::kAuto, FileAccess::kPageCache, FileAccess::kDirect}) {
    FileReader reader;
    for (const int64_t offset : {0, 1, 513, 4096, 200001}) {
      const Extent extent{.file = file, .offset = offset, .bytes = 99999, .access = access};
      EXPECT_TRUE(*ReadText(reader, extent, 99999) == content.substr(offset, 99999)) << offset;
    }
    EXPECT_THAT(OpenDirect(file), ElementsAre(access == FileAccess::kDirect && HaveDirect(file)));
  }
}

TEST(FileReaderTest, OneReaderKeepsBothWays) {
  const TempFolder folder;
  const std::string file = folder.Write("a", "0123456789");
  FileReader reader;
  for (int round = 0; round < 2; ++round) {
    for (const FileAccess access : {FileAccess::kDirect, FileAccess::kPageCache}) {
      EXPECT_EQ(*ReadText(reader, {.file = file, .offset = 3, .bytes = 4, .access = access}, 4),
                "3456");
    }
    EXPECT_THAT(OpenDirect(file), ElementsAre(false, HaveDirect(file)));
  }
}

TEST(FileReaderTest, FileSystemsInMemoryAreReadAsTheyCan) {
  const std::string file = "/dev/shm/penstock_file_reader_test." + std::to_string(getpid());
  const std::string content(100000, 'x');
  if (!(std::ofstream(file, std::ios::binary) << content)) GTEST_SKIP() << "no /dev/shm";
  FileReader reader;
  EXPECT_TRUE(*ReadText(reader,
                        {.file = file, .offset = 1, .bytes = 99999, .access = FileAccess::kDirect},
                        99999) == content.substr(1));
  std::filesystem::remove(file);
}

// Sparse, so cold: nothing of it was read. See page_cache_test.cc for the rule.
TEST(FileReaderTest, ChoosesByWhatWouldStayInTheCache) {
  const TempFolder folder;
  const std::string file = folder.Write("a", "x");
  if (!HaveDirect(file)) GTEST_SKIP() << "no direct reads here";
  const auto read_end = [&](int64_t size) {
    std::filesystem::resize_file(file, size);
    FileReader reader;
    EXPECT_EQ(*ReadText(reader, {.file = file, .offset = size - 5, .bytes = 5}, 5),
              std::string(5, '\0'));
    return OpenDirect(file);
  };
  EXPECT_THAT(read_end(AvailableMemory() + (1 << 20)), ElementsAre(true));
  EXPECT_THAT(read_end(AvailableMemory() / 4), ElementsAre(false));
}

TEST(FileReaderTest, KeepsFewFilesOpen) {
  const TempFolder folder;
  const ptrdiff_t before = OpenDescriptors();
  {
    FileReader reader;
    const auto read_part = [&](char name) {
      return ReadText(reader, {.file = folder / std::string(1, name), .offset = 1, .bytes = 1}, 1);
    };
    for (int round = 0; round < 3; ++round) {
      for (char name = 'a'; name <= 'z'; ++name) {
        const std::string file = folder.Write(std::string(1, name), std::string("_") + name);
        EXPECT_EQ(*read_part(name), std::string(1, name));
        EXPECT_EQ(*ReadText(reader, {.file = file}, 1), "_");  // Not kept.
      }
    }
    EXPECT_EQ(OpenDescriptors() - before, ptrdiff_t{FileReader::kKeptOpen});
    // Files that are kept are not opened again; the one unused for longest makes room.
    for (const char* name : {"s", "t", "a"}) std::filesystem::remove(folder / name);
    EXPECT_EQ(*read_part('s'), "s");
    EXPECT_EQ(*read_part('b'), "b");
    EXPECT_EQ(*read_part('s'), "s");
    EXPECT_FALSE(read_part('t').ok());
    EXPECT_FALSE(read_part('a').ok());
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FileReaderTest, GivesDescriptorsBackWhenTheyRunOut) {
  const TempFolder folder;
  FileReader reader;
  for (int i = 0; i < 4; ++i) {
    const std::string file = folder.Write(std::to_string(i));
    ASSERT_TRUE(ReadText(reader, {.file = file, .bytes = 1}, 1).ok());
  }
  const std::string other = folder.Write("other", "x");
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit tight{static_cast<rlim_t>(dup(0)), old.rlim_max};  // The next one free is too many.
  close(static_cast<int>(tight.rlim_cur));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  EXPECT_EQ(*ReadText(reader, {.file = other}, 1), "x");
  std::vector<int> taken;
  for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  const absl::Status status = ReadText(reader, {.file = other}, 1).status();
  for (int fd : taken) close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(other), HasSubstr("Too many open files"), HasSubstr("ulimit -n")));
}

}  // namespace
}  // namespace penstock
