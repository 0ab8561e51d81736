#include "penstock/stages/read/read_cifar10_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/temp_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kRecord = 3073;

// Byte `plane`, `y`, `x` of the n-th record: different for each.
uint8_t Value(int n, int plane, int y, int x) {
  return static_cast<uint8_t>(n * 97 + plane * 59 + y * 32 + x * 7);
}

std::string Record(int n, int label) {
  std::string record(1, static_cast<char>(label));
  for (int plane = 0; plane < 3; ++plane) {
    for (int i = 0; i < 1024; ++i) record += static_cast<char>(Value(n, plane, i / 32, i % 32));
  }
  return record;
}

std::string Records(int first, int count) {
  std::string records;
  for (int n = first; n < first + count; ++n) records += Record(n, n % 10);
  return records;
}

void WriteTrainFiles(const TempFolder& folder, const std::string& below = "") {
  for (int i = 0; i < 5; ++i) {
    folder.Write(below + "data_batch_" + std::to_string(i + 1) + ".bin", Records(2 * i, 2));
  }
}

absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& root,
                                             ReadCifar10::Split split = ReadCifar10::TRAIN) {
  ReadCifar10 options;
  if (!root.empty()) options.set_root(root);
  options.set_split(split);
  std::unique_ptr<Source> source = Registry::Default().Find("penstock.ReadCifar10")->source();
  if (absl::Status status = source->Init(options); !status.ok()) return status;
  return source;
}

absl::Status OpenTest(const TempFolder& folder, const std::string& content) {
  folder.Write("test_batch.bin", content);
  return Open(folder.path(), ReadCifar10::TEST).status();
}

// Reads and finishes one sample; `row` is where its pixels are to go, or null.
absl::Status Finish(const Source& source, int64_t id, Sample& sample, int64_t& label,
                    SampleContext& context, uint8_t* row = nullptr) {
  std::vector<std::byte> bytes(kRecord);
  FileReader reader;
  if (absl::Status s = reader.Read(source.Locate(id), absl::MakeSpan(bytes)); !s.ok()) return s;
  sample = {};
  sample.id = id;
  sample.fields[0].address = reinterpret_cast<uint64_t>(row);
  sample.fields[1].address = reinterpret_cast<uint64_t>(&label);
  return source.Finish(bytes, sample, context);
}

TEST(ReadCifar10StageTest, ReadsAllFilesInOrder) {
  const TempFolder folder;
  WriteTrainFiles(folder);
  const auto source = *Open(folder.path());
  ASSERT_EQ(source->size(), 10);
  EXPECT_EQ(source->key(0), "data_batch_1.bin:0");
  EXPECT_EQ(source->key(9), "data_batch_5.bin:1");
  EXPECT_EQ(source->class_names().size(), 10u);
  Scratch scratch;
  SampleContext context(nullptr, &scratch);
  for (int id = 0; id < 10; ++id) {
    Sample sample;
    int64_t label = -1;
    ASSERT_TRUE(Finish(*source, id, sample, label, context).ok());
    EXPECT_EQ(label, id);
    const FieldView& image = sample.fields[0];
    EXPECT_EQ(image.region, (Region{0, 0, 32, 32}));
    EXPECT_EQ(image.bytes, 3072);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        for (int c = 0; c < 3; ++c) ASSERT_EQ(image.at(y, x)[c], Value(id, c, y, x));
      }
    }
  }
}

TEST(ReadCifar10StageTest, WritesTheRowWhereThereIsOne) {
  const TempFolder folder;
  folder.Write("test_batch.bin", Records(3, 1));
  const auto source = *Open(folder.path(), ReadCifar10::TEST);
  std::vector<uint8_t> row(3072 + 1, 0xCD);
  Sample sample;
  int64_t label = -1;
  SampleContext context(nullptr, nullptr);
  ASSERT_TRUE(Finish(*source, 0, sample, label, context, row.data()).ok());
  EXPECT_EQ(row[3 * (32 * 5 + 6) + 2], Value(3, 2, 5, 6));
  EXPECT_EQ(row[3072], 0xCD);
}

TEST(ReadCifar10StageTest, GivesImageAndLabel) {
  const TempFolder folder;
  WriteTrainFiles(folder);
  const SampleSpec spec = (*Open(folder.path()))->fields();
  EXPECT_EQ(spec.Names(), "'image', 'label'");
  EXPECT_EQ(spec.fields[0].ToString(), "uint8 [32, 32, 3]");
  EXPECT_EQ(spec.fields[1].ToString(), "int64 []");
}

TEST(ReadCifar10StageTest, FindsTheArchivesFolder) {
  const TempFolder folder;
  WriteTrainFiles(folder, "cifar-10-batches-bin/");
  const auto source = *Open(folder.path());
  EXPECT_EQ(source->size(), 10);
  EXPECT_EQ(source->Locate(2).file, folder / "cifar-10-batches-bin/data_batch_2.bin");
  EXPECT_THAT(source->summary(), HasSubstr("10 samples in 5 files of"));
}

TEST(ReadCifar10StageTest, FingerprintTellsListsApart) {
  const TempFolder a, b, c;
  WriteTrainFiles(a);
  WriteTrainFiles(b);
  WriteTrainFiles(c);
  c.Write("data_batch_3.bin", Records(4, 3));
  EXPECT_EQ((*Open(a.path()))->fingerprint(), (*Open(b.path()))->fingerprint());
  EXPECT_NE((*Open(a.path()))->fingerprint(), (*Open(c.path()))->fingerprint());
}

TEST(ReadCifar10StageTest, RefusesPartsOfRecords) {
  const TempFolder folder;
  const absl::Status status = OpenTest(folder, Records(0, 3) + std::string(1000, 'x'));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder / "test_batch.bin"), HasSubstr("after 3"),
                    HasSubstr("1000 of 3073 bytes")));
  EXPECT_THAT(std::string(OpenTest(folder, "").message()), HasSubstr("test_batch.bin: empty file"));
}

TEST(ReadCifar10StageTest, KnowsCifar100) {
  const TempFolder folder;
  EXPECT_THAT(std::string(OpenTest(folder, std::string(3074 * 4, 'x')).message()),
              HasSubstr("is it CIFAR-100?"));
  EXPECT_THAT(std::string(OpenTest(folder, std::string(3073 * 4 + 1, 'x')).message()),
              testing::Not(HasSubstr("CIFAR-100")));
  const TempFolder other;
  other.Write("cifar-100-binary/train.bin");
  EXPECT_THAT(std::string(Open(other.path()).status().message()), HasSubstr("CIFAR-100"));
}

TEST(ReadCifar10StageTest, RefusesLabelsAboveNine) {
  const TempFolder folder;
  folder.Write("test_batch.bin", Record(0, 3) + Record(1, 12));
  const auto source = *Open(folder.path(), ReadCifar10::TEST);
  Scratch scratch;
  SampleContext context(nullptr, &scratch);
  Sample sample;
  int64_t label = -1;
  EXPECT_TRUE(Finish(*source, 0, sample, label, context).ok());
  EXPECT_EQ(Finish(*source, 1, sample, label, context),
            absl::DataLossError("label is 12, expected 0 to 9"));
  EXPECT_EQ(source->key(1), "test_batch.bin:1");
}

TEST(ReadCifar10StageTest, NamesWhatIsMissing) {
  EXPECT_EQ(Open("").status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status no_root = Open("/no/such/folder").status();
  EXPECT_EQ(no_root.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_root.message()),
              AllOf(HasSubstr("/no/such/folder: No such file or directory"), HasSubstr("--data")));
  const TempFolder folder;
  WriteTrainFiles(folder);
  std::filesystem::remove(folder / "data_batch_4.bin");
  const absl::Status no_file = Open(folder.path()).status();
  EXPECT_EQ(no_file.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_file.message()), AllOf(HasSubstr(folder / "data_batch_4.bin: No such"),
                                                    HasSubstr("cifar-10-batches-bin")));
  EXPECT_THAT(std::string(Open(folder / "data_batch_1.bin").status().message()),
              HasSubstr("Not a directory"));
  const TempFolder python;
  python.Write("cifar-10-batches-py/data_batch_1");
  EXPECT_THAT(std::string(Open(python.path()).status().message()), HasSubstr("Python version"));
}

}  // namespace
}  // namespace penstock
