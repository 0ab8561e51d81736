#include "penstock/stages/read/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Header(const std::string& text, int version = 1) {
  std::string header("\x93NUMPY", 6);
  header += static_cast<char>(version);
  header += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    header += static_cast<char>(text.size() >> (8 * i));
  }
  return header + text;
}

std::string Dict(const std::string& descr, const std::string& shape,
                 const std::string& order = "False") {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

absl::Status Error(const std::string& header) { return ParseNpyHeader(header).status(); }

void ExpectError(const std::string& header, absl::StatusCode code, const std::string& part) {
  EXPECT_EQ(Error(header).code(), code) << header;
  EXPECT_THAT(std::string(Error(header).message()), HasSubstr(part));
}

TEST(NpyHeaderTest, AllVersions) {
  for (const int version : {1, 2, 3}) {
    const std::string header = Header(Dict("'<f4'", "(3, 512, 7)"), version);
    EXPECT_EQ(*NpyHeaderBytes(header.substr(0, kNpyPrefixBytes)),
              static_cast<int64_t>(header.size()));
    const auto array = ParseNpyHeader(header);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_TRUE(Same(array->dtype, kFloat32));
    EXPECT_THAT(array->shape, ElementsAre(3, 512, 7));
    EXPECT_EQ(array->data_offset, static_cast<int64_t>(header.size()));
  }
}

TEST(NpyHeaderTest, Types) {
  const std::pair<const char*, DLDataType> types[] = {
      {"'|u1'", {kDLUInt, 8, 1}},   {"'<u1'", {kDLUInt, 8, 1}},   {"'<u2'", {kDLUInt, 16, 1}},
      {"'<u4'", {kDLUInt, 32, 1}},  {"'<u8'", {kDLUInt, 64, 1}},  {"'|i1'", {kDLInt, 8, 1}},
      {"'<i2'", {kDLInt, 16, 1}},   {"'<i4'", {kDLInt, 32, 1}},   {"\"<i8\"", {kDLInt, 64, 1}},
      {"'<f2'", {kDLFloat, 16, 1}}, {"'<f4'", {kDLFloat, 32, 1}}, {"'<f8'", {kDLFloat, 64, 1}}};
  for (const auto& [descr, dtype] : types) {
    const auto array = ParseNpyHeader(Header(Dict(descr, "(5,)")));
    ASSERT_TRUE(array.ok()) << descr << array.status();
    EXPECT_TRUE(Same(array->dtype, dtype)) << descr;
    EXPECT_THAT(array->shape, ElementsAre(5));
  }
}

TEST(NpyHeaderTest, Forms) {
  EXPECT_THAT(ParseNpyHeader(Header(Dict("'<f4'", "()")))->shape, IsEmpty());
  EXPECT_THAT(ParseNpyHeader(Header("{'shape':(2,3,),'descr':'<f4','fortran_order':False}"))->shape,
              ElementsAre(2, 3));
  EXPECT_THAT(ParseNpyHeader(Header(Dict("'<f4'", "(9223372036854775807,)")))->shape,
              ElementsAre(9223372036854775807));
}

TEST(NpyHeaderTest, OtherKindsOfArrays) {
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  ExpectError(Header(Dict("'<f4'", "(3, 4)", "True")), kCode, "numpy.ascontiguousarray");
  ExpectError(Header(Dict("'>f4'", "(3, 4)")), kCode, "newbyteorder('<')");
  ExpectError(Header(Dict("'|O'", "(3,)")), kCode, "objects");
  ExpectError(Header(Dict("[('a', '<f4'), ('b', '<i8')]", "(3,)")), kCode, "structured");
  ExpectError(Header(Dict("'|b1'", "(3,)")), kCode, "view('uint8')");
  for (const char* descr : {"'<c8'", "'<U5'", "'|S5'", "'<M8[ns]'", "'|V2'", "'<f1'", "'<f3'",
                            "'|f4'", "'f4'", "''", "'<u16'"}) {
    ExpectError(Header(Dict(descr, "(3,)")), kCode, "expected little-endian");
  }
}

TEST(NpyHeaderTest, Damage) {
  constexpr auto kCode = absl::StatusCode::kDataLoss;
  const std::string good = Header(Dict("'<f4'", "(3, 4)"));
  ExpectError("", kCode, "no .npy file");
  ExpectError("\x89PNG\r\n\x1a\n1234", kCode, R"(begins with "\x89PNG\x0d\x0a")");
  ExpectError(good.substr(0, 11), kCode, "cut off after 11 bytes");
  ExpectError(good.substr(0, 40), kCode, "cut off after 40 of");
  ExpectError(good + "x", kCode, "cut off");
  ExpectError(Header(Dict("'<f4'", "(3,)"), 4), kCode, "version 4.0");
  ExpectError(std::string("\x93NUMPY\x02\0\xff\xff\xff\x7f", 12), kCode, "2147483659 bytes");
  ExpectError(std::string("\x93NUMPY\x01\0\0\0..", 12), kCode, "says that it has 10 bytes");
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"  ", "'{' is missing"},
           {"{}", "it lacks"},
           {"{'descr': '<f4', 'fortran_order': False, }", "it lacks"},
           {Dict("'<f4'", "(3,)") + "x", "something behind"},
           {Dict("'<f4'", "(3)"), "',' is missing"},
           {Dict("'<f4'", "(,)"), "a number is missing"},
           {Dict("'<f4'", "(3,,)"), "a number is missing"},
           {Dict("'<f4'", "(-3,)"), "a number is missing"},
           {Dict("'<f4'", "(03,)"), "begins with 0"},
           {Dict("'<f4'", "(3 4)"), "',' or ')'"},
           {Dict("'<f4'", "(9223372036854775808,)"), "too large"},
           {Dict("'<f4'", "(3,)", "Maybe"), "True or False"},
           {Dict("'<f4", "(3,)"), "',' or '}' is missing"},
           {"{'descr': '<f4", "not closed"},
           {"{'descr': 3", "quoted text is missing"},
           {Dict("'<f4'", "(3,)") + "\n", "something behind"},
           {Dict("'\\x3cf4'", "(3,)"), "not plain"},
           {"{'descr': '<f4', 'descr': '<f4', ", "twice"},
           {"{'descr' '<f4'", "':' is missing"},
           {"{'other': 3", "unknown key"}}) {
    ExpectError(Header(text), kCode, part);
  }
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1, ";
  ExpectError(Header(Dict("'<f4'", many + ")")), kCode, "too many dimensions");
}

}  // namespace
}  // namespace penstock
