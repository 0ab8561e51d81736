// The data sets that the build makes, read by the stages that graphs read them with.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "penstock/stages/decode/decode_image_stage.h"
#include "penstock/stages/read/file_reader.h"
#include "penstock/stages/read/read_array.pb.h"
#include "penstock/stages/read/read_cifar10.pb.h"
#include "penstock/stages/read/read_image_folder.pb.h"
#include "penstock/stages/read/temp_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> Read(const Source& source, int64_t id) {
  FileReader reader;
  const Extent extent = source.Locate(id);
  std::vector<std::byte> bytes(reader.Measure(extent).value_or(0));
  EXPECT_TRUE(reader.Read(extent, absl::MakeSpan(bytes)).ok());
  return bytes;
}

TEST(SampleDataTest, Cifar10) {
  for (const auto& [split, size] :
       {std::pair(ReadCifar10::TRAIN, 1000), {ReadCifar10::TEST, 100}}) {
    ReadCifar10 options;
    options.set_root("tools/data/cifar10_sample");
    options.set_split(split);
    const auto source = Registry::Default().Find("penstock.ReadCifar10")->source();
    ASSERT_TRUE(source->Init(options).ok()) << source->Init(options);
    ASSERT_EQ(source->size(), size);
    std::map<int64_t, int> labels;
    Scratch scratch;
    SampleContext context(nullptr, &scratch);
    for (int64_t id = 0; id < size; ++id) {
      Sample sample;
      int64_t label = -1;
      sample.fields[1].address = reinterpret_cast<uint64_t>(&label);
      ASSERT_TRUE(source->Finish(Read(*source, id), sample, context).ok());
      ++labels[label];
    }
    ASSERT_EQ(labels.size(), 10u);
    for (const auto& [label, count] : labels) EXPECT_EQ(count, size / 10) << label;
  }
}

TEST(SampleDataTest, Array) {
  ReadArray options;
  options.set_path("tools/data/array_sample.npy");
  const auto source = Registry::Default().Find("penstock.ReadArray")->source();
  ASSERT_TRUE(source->Init(options).ok()) << source->Init(options);
  ASSERT_EQ(source->size(), 1000);
  EXPECT_EQ(source->fields().fields[0].ToString(), "float32 [16, 16]");
  for (const int64_t id : {0, 999}) {
    const std::vector<std::byte> bytes = Read(*source, id);
    ASSERT_EQ(bytes.size(), 1024u);
    const auto* numbers = reinterpret_cast<const float*>(bytes.data());
    EXPECT_EQ(numbers[0], static_cast<float>(id));
    EXPECT_EQ(numbers[255], static_cast<float>(id) + 255 / 256.0F);
  }
}

TEST(SampleDataTest, Photos) {
  ReadImageFolder options;
  options.set_root("tools/data/photos_sample");
  const auto source = Registry::Default().Find("penstock.ReadImageFolder")->source();
  ASSERT_TRUE(source->Init(options).ok()) << source->Init(options);
  ASSERT_EQ(source->size(), 256);
  EXPECT_EQ(source->class_names().size(), 4u);
  DecodeImageStage stage;
  SampleStage& decode = stage;
  ASSERT_TRUE(decode.Init(DecodeImage()).ok());
  const auto state = decode.MakeWorkerState();
  Scratch scratch;
  std::map<std::string, int> kinds;
  for (int64_t id = 0; id < source->size(); ++id) {
    const std::vector<std::byte> bytes = Read(*source, id);
    FieldView in, out;
    in.address = reinterpret_cast<uint64_t>(bytes.data());
    in.bytes = static_cast<int64_t>(bytes.size());
    ImageSize size;
    ASSERT_TRUE(decode.Probe(in, size).ok()) << source->key(id);
    EXPECT_GE(std::min(size.width, size.height), 200);
    EXPECT_LE(std::max(size.width, size.height), 500);
    std::vector<uint8_t> pixels(size_t{3} * size.width * size.height);
    out.region = Region::Whole(size);
    out.address = reinterpret_cast<uint64_t>(pixels.data());
    SampleContext context(state.get(), &scratch);
    EXPECT_TRUE(decode.Process(nullptr, in, out, context).ok()) << source->key(id);
    ++kinds[fs::path(source->key(id)).extension()];
  }
  EXPECT_EQ(kinds[".png"], 2);
  EXPECT_EQ(kinds[".jpg"], 254);
}

std::string FileContent(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::map<std::string, std::string> Contents(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    contents[entry.path().lexically_relative(folder)] = FileContent(entry.path());
  }
  return contents;
}

TEST(SampleDataTest, IsTheSameEachTime) {
  const TempFolder array;
  const std::string path = array / "again.npy";
  ASSERT_EQ(std::system(("tools/data/make_sample_data array " + path).c_str()), 0);
  EXPECT_TRUE(FileContent(path) == FileContent("tools/data/array_sample.npy"));
  for (const std::string kind : {"cifar10", "photos"}) {
    const TempFolder folder;
    const std::string command = "tools/data/make_sample_data " + kind + " " + (folder / kind);
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_TRUE(Contents(folder / kind) == Contents("tools/data/" + kind + "_sample"));
  }
}

}  // namespace
}  // namespace penstock
