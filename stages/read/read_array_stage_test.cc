#include "penstock/stages/read/read_array_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/temp_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As numpy 1.24 writes it: padded to a multiple of 64.
std::string NpyHeader(const std::string& descr, const std::string& shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(text.size()) +
         static_cast<char>(text.size() >> 8) + text;
}

std::string Count(int bytes) {
  std::string data;
  for (int i = 0; i < bytes; ++i) data += static_cast<char>(i * 3 + i / 256);
  return data;
}

absl::StatusOr<std::unique_ptr<Source>> Open(const std::string& path,
                                             const std::string& rest = "") {
  ReadArray options;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(rest, &options)) << rest;
  if (!path.empty()) options.set_path(path);
  std::unique_ptr<Source> source = Registry::Default().Find("penstock.ReadArray")->source();
  if (absl::Status status = source->Init(options); !status.ok()) return status;
  return source;
}

std::string Row(const Source& source, int64_t id) {
  const Extent extent = source.Locate(id);
  std::string row(static_cast<size_t>(extent.bytes.value()), '?');
  FileReader reader;
  EXPECT_TRUE(
      reader.Read(extent, absl::MakeSpan(reinterpret_cast<std::byte*>(row.data()), row.size()))
          .ok());
  return row;
}

void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& path,
                 const std::string& part) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path), HasSubstr(part)));
}

TEST(ReadArrayStageTest, RowsOfANpyFile) {
  const TempFolder folder;
  const std::string path = folder.Write("a.npy", NpyHeader("<f4", "(5, 3, 2)") + Count(5 * 24));
  const auto source = *Open(path);
  EXPECT_EQ(source->size(), 5);
  ASSERT_EQ(source->fields().fields.size(), 1u);
  EXPECT_EQ(source->fields().fields[0].name, "data");
  EXPECT_EQ(source->fields().fields[0].ToString(), "float32 [3, 2]");
  EXPECT_EQ(source->summary(), "5 rows of float32 [3, 2] in '" + path + "'");
  EXPECT_EQ(source->key(4), "4");
  for (int id = 0; id < 5; ++id) {
    const Extent extent = source->Locate(id);
    EXPECT_EQ(extent.file, path);
    EXPECT_EQ(extent.offset, 128 + 24 * id);
    EXPECT_EQ(Row(*source, id), Count(5 * 24).substr(24 * id, 24));
  }
  ASSERT_TRUE(source->stored_rows().has_value());
  EXPECT_EQ(source->stored_rows()->file, path);
  EXPECT_EQ(source->stored_rows()->offset, 128);
}

TEST(ReadArrayStageTest, FieldsAreNamedByWhatTheyAre) {
  const TempFolder folder;
  const auto spec = [&](const std::string& descr, const std::string& shape,
                        const std::string& rest = "") {
    const std::string data(4096, '\1');
    const SampleSpec fields =
        (*Open(folder.Write("a.npy", NpyHeader(descr, shape) + data), rest))->fields();
    return fields.fields[0].name + " " + fields.fields[0].ToString();
  };
  EXPECT_EQ(spec("|u1", "(2, 8, 9, 3)"), "image uint8 [8, 9, 3]");
  EXPECT_EQ(spec("|u1", "(2, 8, 9, 5)"), "data uint8 [8, 9, 5]");
  EXPECT_EQ(spec("|i1", "(2, 8, 9, 3)"), "data int8 [8, 9, 3]");
  EXPECT_EQ(spec("|u1", "(2, 8, 9)"), "data uint8 [8, 9]");
  EXPECT_EQ(spec("<f8", "(7,)"), "data float64 []");
  EXPECT_EQ(spec("<f8", "(7,)", "field: 'x_1'"), "x_1 float64 []");
}

TEST(ReadArrayStageTest, RawFiles) {
  const TempFolder folder;
  const std::string path = folder.Write("a.bin", Count(7 + 4 * 12));
  const auto source = *Open(path, "raw { dtype: BFLOAT16 shape: [2, 3] offset: 7 }");
  EXPECT_EQ(source->size(), 4);
  EXPECT_EQ(source->fields().fields[0].ToString(), "bfloat16 [2, 3]");
  EXPECT_EQ(Row(*source, 3), Count(7 + 4 * 12).substr(7 + 3 * 12));
  EXPECT_EQ((*Open(path, "raw { }"))->size(), 7 + 4 * 12);
  EXPECT_EQ((*Open(path, "raw { }"))->fields().fields[0].ToString(), "uint8 []");
}

TEST(ReadArrayStageTest, EveryRawType) {
  const TempFolder folder;
  const std::string path = folder.Write("a.bin", Count(64));
  const auto* types = ReadArray::Raw::DType_descriptor();
  ASSERT_EQ(types->value_count(), 13);
  for (int i = 1; i < types->value_count(); ++i) {
    const std::string name = types->value(i)->name();
    const FieldSpec field =
        (*Open(path, "raw { dtype: " + name + " shape: 2 }"))->fields().fields[0];
    std::string expected = Name(field.dtype);
    for (char& c : expected) c = static_cast<char>(toupper(c));
    EXPECT_EQ(name, expected);
  }
}

TEST(ReadArrayStageTest, RawFilesThatDoNotFit) {
  const TempFolder folder;
  const std::string path = folder.Write("a.bin", Count(50));
  ExpectError(Open(path, "raw { dtype: INT32 shape: 3 }").status(), absl::StatusCode::kDataLoss,
              path,
              "50 bytes are no whole number of rows of 12 bytes (int32 [3]): after 4 rows there "
              "are 2 bytes");
  ExpectError(Open(path, "raw { dtype: INT32 shape: 3 offset: 1 }").status(),
              absl::StatusCode::kDataLoss, path, "49 bytes behind the first 1");
  ExpectError(Open(path, "raw { offset: 51 }").status(), absl::StatusCode::kDataLoss, path,
              "50 bytes, expected at least 51");
  ExpectError(Open(path, "raw { offset: 50 }").status(), absl::StatusCode::kDataLoss, path,
              "0 bytes");
  const std::string npy = folder.Write("b.npy", NpyHeader("|u1", "(2,)") + "xy");
  ExpectError(Open(npy, "raw { }").status(), absl::StatusCode::kFailedPrecondition, npy,
              "leave raw out");
  EXPECT_EQ((*Open(npy, "raw { offset: 128 }"))->size(), 2);
}

TEST(ReadArrayStageTest, ArraysThatAreNotThere) {
  const TempFolder folder;
  const auto error = [&](const std::string& content, absl::StatusCode code,
                         const std::string& part) {
    const std::string path = folder.Write("a\xFF.npy", content);
    ExpectError(Open(path).status(), code, folder / R"(a\xff.npy: )", part);
  };
  constexpr auto kDamage = absl::StatusCode::kDataLoss;
  constexpr auto kKind = absl::StatusCode::kFailedPrecondition;
  error(NpyHeader("<f4", "(5, 3)") + Count(5 * 12 - 1), kDamage,
        "float32 [5, 3] has 60 bytes, but behind the header there are 59: 4 of 5 rows");
  error(NpyHeader("<f4", "(5, 3)"), kDamage, "0 of 5 rows");
  error("", kDamage, "no .npy file");
  error("\x93NUMPY", kDamage, "cut off after 6 bytes");
  error(NpyHeader("<f4", "(5, 3)").substr(0, 99), kDamage, "cut off after 99 of 128");
  error("PK\3\4 this is a .npz", kDamage, "no .npy file");
  error(NpyHeader("<f4", "(4611686018427387904, 3)"), kDamage, "too large to be true");
  error(NpyHeader("|u1", "(2, 4294967296, 1, 1)"), kDamage, "too large to be true");
  error(NpyHeader("<f4", "()") + "1234", kKind, "a single number");
  error(NpyHeader("<f4", "(0, 3)"), kKind, "empty");
  error(NpyHeader("<f4", "(3, 0)"), kKind, "empty");
  error(NpyHeader(">f4", "(3, 1)") + Count(12), kKind, "newbyteorder");
}

TEST(ReadArrayStageTest, BytesBehindTheArrayAreNamed) {
  const TempFolder folder;
  const std::string path = folder.Write("a.npy", NpyHeader("|u1", "(3,)") + "abcd");
  EXPECT_THAT((*Open(path))->summary(), HasSubstr("; 1 bytes behind them are left out"));
}

TEST(ReadArrayStageTest, Options) {
  const TempFolder folder;
  const std::string path = folder.Write("a.bin", Count(64));
  const auto invalid = [&](const std::string& text, const std::string& part) {
    const absl::Status status = Open(path, text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part)) << text;
  };
  invalid("raw { shape: [2, 0] }", "raw.shape is [2, 0]");
  invalid("raw { shape: 2147483648 }", "raw.shape is [2147483648]");
  invalid("raw { shape: [2147483647, 2147483647, 3] }", "larger than any file");
  invalid("raw { offset: -1 }", "raw.offset is -1");
  invalid("raw { dtype: 77 }", "raw.dtype is 77");
  invalid("access: 9", "access is 9");
  invalid("field: ''", "field is ''");
  invalid("field: 'a/b'", "field is 'a/b'");
  EXPECT_EQ(Open("").status().code(), absl::StatusCode::kInvalidArgument);
  ExpectError(Open(folder / "missing.npy").status(), absl::StatusCode::kNotFound,
              folder / "missing.npy", "--data");
  ExpectError(Open(folder.path()).status(), absl::StatusCode::kFailedPrecondition, folder.path(),
              "Is a directory");
}

TEST(ReadArrayStageTest, DirectReadsGiveTheSameBytes) {
  const TempFolder folder;
  const std::string data = Count(9 * 100003);
  const std::string path = folder.Write("a.npy", NpyHeader("|u1", "(9, 100003)") + data);
  const auto source = *Open(path, "access: DIRECT");
  EXPECT_EQ(source->Locate(0).access, FileAccess::kDirect);
  EXPECT_EQ((*Open(path, "access: PAGE_CACHE"))->Locate(0).access, FileAccess::kPageCache);
  for (int id = 0; id < 9; ++id) {
    EXPECT_TRUE(Row(*source, id) == data.substr(id * 100003, 100003)) << id;
  }
}

TEST(ReadArrayStageTest, FingerprintIsOfTheArrayAndNotOfItsPlace) {
  const TempFolder folder;
  const auto fingerprint = [&](const std::string& name, const std::string& descr,
                               const std::string& shape) {
    return (*Open(folder.Write(name, NpyHeader(descr, shape) + Count(4096))))->fingerprint();
  };
  const uint64_t a = fingerprint("a", "<f4", "(5, 3, 2)");
  EXPECT_EQ(a, fingerprint("b", "<f4", "(5, 3, 2)"));
  EXPECT_NE(a, fingerprint("a", "<i4", "(5, 3, 2)"));
  EXPECT_NE(a, fingerprint("a", "<f4", "(5, 2, 3)"));
  EXPECT_NE(a, fingerprint("a", "<f4", "(5, 32)"));
  EXPECT_NE(a, fingerprint("a", "<f4", "(6, 3, 2)"));
}

}  // namespace
}  // namespace penstock
