#include "penstock/stages/read/file_mapping.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "penstock/stages/read/temp_folder.h"

namespace penstock {
namespace {

std::string Content(size_t bytes) {
  std::string content(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<char>(i * 31 % 251);
  return content;
}

std::string Text(const FileMapping& mapping) {
  return {reinterpret_cast<const char*>(mapping.data()), mapping.size()};
}

// How many files of that name are mapped into this process, removed ones too.
int Mappings(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    found += line.find("/" + name) != std::string::npos ? 1 : 0;
  }
  return found;
}

TEST(FileMappingTest, HoldsTheFilesBytesFromAPageOn) {
  const TempFolder folder;
  // Less than a page, a page, and several with a rest.
  for (const size_t bytes : {1, 4096, 3 * 4096 + 128 + 7}) {
    const std::string content = Content(bytes);
    const auto mapping = FileMapping::Open(folder.Write("rows.npy", content));
    ASSERT_TRUE(mapping.ok()) << mapping.status();
    EXPECT_EQ(reinterpret_cast<uint64_t>(mapping->data()) % 4096, 0u);
    EXPECT_TRUE(Text(*mapping) == content) << bytes;
  }
}

// Rows behind a header, as they are taken from there.
TEST(FileMappingTest, OffsetsAreThoseOfTheFile) {
  const TempFolder folder;
  const std::string content = Content(20000);
  const auto mapping = FileMapping::Open(folder.Write("rows.npy", content));
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  EXPECT_EQ(Text(*mapping).substr(128, 300), content.substr(128, 300));
  EXPECT_EQ(Text(*mapping).substr(4095, 4098), content.substr(4095, 4098));
}

TEST(FileMappingTest, LastsAsLongAsItsOwner) {
  constexpr char kName[] = "lasting.npy";
  const TempFolder folder;
  const std::string path = folder.Write(kName, Content(5000));
  EXPECT_EQ(Mappings(kName), 0);
  {
    FileMapping last;
    {
      FileMapping first = FileMapping::Open(path).value();
      EXPECT_EQ(Mappings(kName), 1);
      last = std::move(first);
    }
    EXPECT_EQ(Mappings(kName), 1);
    EXPECT_EQ(Text(last), Content(5000));
    std::filesystem::remove(path);  // The bytes stay.
    EXPECT_EQ(Text(last), Content(5000));
    folder.Write(kName, Content(3));
    last = FileMapping::Open(path).value();
    EXPECT_EQ(Text(last), Content(3));
  }
  EXPECT_EQ(Mappings(kName), 0);
}

// It is a run's input: nobody writes into it by mistake.
TEST(FileMappingTest, CannotBeWritten) {
  const TempFolder folder;
  const std::string path = folder.Write("rows.npy", Content(10));
  const FileMapping mapping = FileMapping::Open(path).value();
  EXPECT_DEATH(*mapping.data() = std::byte{1}, "");
  EXPECT_EQ(Text(mapping), Content(10));
}

TEST(FileMappingTest, WhatIsNoFileOfBytesIsRefused) {
  const TempFolder folder;
  const std::string empty = folder.Write("empty.npy", "");
  EXPECT_EQ(FileMapping::Open(empty).status(),
            absl::FailedPreconditionError(empty + ": empty file"));
  const std::string missing = folder / "missing.npy";
  EXPECT_EQ(FileMapping::Open(missing).status(),
            absl::NotFoundError(missing + ": No such file or directory"));
  EXPECT_EQ(FileMapping::Open(folder.path()).status(),
            absl::FailedPreconditionError(folder.path() + ": Is a directory"));
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(FileMapping::Open(pipe).status(),
            absl::FailedPreconditionError(pipe + ": not a regular file"));
  const std::string newline = folder / "new\nline";
  EXPECT_EQ(FileMapping::Open(newline).status().message(),
            folder.path() + "/new\\x0aline: No such file or directory");
}

TEST(FileMappingTest, KnowsWhatIsInMemory) {
  EXPECT_FALSE(IsInMemory("/proc/self/maps"));
  EXPECT_FALSE(IsInMemory("/no/such/file"));
  std::string path = "/dev/shm/penstock.XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) GTEST_SKIP() << "no file can be made in /dev/shm";
  EXPECT_EQ(write(file, "rows", 4), 4);
  close(file);
  EXPECT_TRUE(IsInMemory(path));
  EXPECT_EQ(Text(FileMapping::Open(path).value()), "rows");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace penstock
