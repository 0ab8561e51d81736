#include "penstock/stages/read/read_image_folder_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "penstock/stages/read/temp_folder.h"
#include "penstock/stages/registry.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReadImageFolderStageTest : public ::testing::Test {
 protected:
  absl::Status Open() {
    if (!options_.has_root()) options_.set_root(folder_.path());
    source_ = Registry::Default().Find("penstock.ReadImageFolder")->source();
    return source_->Init(options_);
  }
  std::string Message() { return std::string(Open().message()); }
  // "cat/1.jpg=0" for each sample.
  std::vector<std::string> Samples() {
    const absl::Status status = Open();
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> samples;
    for (int64_t id = 0; status.ok() && id < source_->size(); ++id) {
      samples.push_back(source_->key(id));
      if (source_->fields().Find("label") >= 0) samples.back() += "=" + std::to_string(Label(id));
    }
    return samples;
  }
  int64_t Label(int64_t id) {
    int64_t label = -1;
    Sample sample;
    sample.id = id;
    sample.fields[1].address = reinterpret_cast<uint64_t>(&label);
    SampleContext context(nullptr, nullptr);
    EXPECT_TRUE(source_->Finish({}, sample, context).ok());
    return label;
  }

  TempFolder folder_;
  ReadImageFolder options_;
  std::unique_ptr<Source> source_;
};

TEST_F(ReadImageFolderStageTest, LabelsAreFoldersInByteOrder) {
  for (const char* name : {"dog/2.jpg", "dog/10.jpg", "cat/x.png", "Zebra/1.webp", "a/1.jpg"}) {
    folder_.Write(name);
  }
  EXPECT_THAT(Samples(), ElementsAre("Zebra/1.webp=0", "a/1.jpg=1", "cat/x.png=2", "dog/10.jpg=3",
                                     "dog/2.jpg=3"));
  EXPECT_THAT(source_->class_names(), ElementsAre("Zebra", "a", "cat", "dog"));
  EXPECT_EQ(source_->fields().Names(), "'image', 'label'");
  EXPECT_EQ(source_->fields().fields[0].ToString(), "encoded");
  EXPECT_EQ(source_->fields().fields[1].ToString(), "int64 []");
}

TEST_F(ReadImageFolderStageTest, FindsImagesAtAnyDepthFolderByFolder) {
  for (const char* name :
       {"a/z.jpg", "a/sub/deep/1.jpg", "a/sub.jpg", "a-b/1.jpg", "a/sub/2.jpg"}) {
    folder_.Write(name);
  }
  // "a" comes before "a-b", though '-' comes before '/'.
  EXPECT_THAT(Samples(), ElementsAre("a/sub/2.jpg=0", "a/sub/deep/1.jpg=0", "a/sub.jpg=0",
                                     "a/z.jpg=0", "a-b/1.jpg=1"));
}

TEST_F(ReadImageFolderStageTest, LocatesFilesByTheirNames) {
  folder_.Write("Class A/IMG_1.JPG", "12345");
  folder_.Write("Class A/a.JpEg");
  options_.set_root(folder_.path() + "//");
  EXPECT_THAT(Samples(), ElementsAre("Class A/IMG_1.JPG=0", "Class A/a.JpEg=0"));
  const Extent extent = source_->Locate(0);
  EXPECT_EQ(extent.file, folder_ / "Class A/IMG_1.JPG");
  EXPECT_EQ(extent.offset, 0);
  EXPECT_FALSE(extent.bytes.has_value());
}

TEST_F(ReadImageFolderStageTest, NamesNeedNotBeUtf8) {
  folder_.Write("b\xFF/\xFF\xFE.jpg");
  folder_.Write("b\xFF/n\xF1.jpg");
  EXPECT_THAT(Samples(), ElementsAre(R"(b\xff/n\xf1.jpg=0)", R"(b\xff/\xff\xfe.jpg=0)"));
  EXPECT_EQ(source_->Locate(0).file, folder_ / "b\xFF/n\xF1.jpg");
  EXPECT_THAT(source_->class_names(), ElementsAre(R"(b\xff)"));
}

TEST_F(ReadImageFolderStageTest, LeavesOutAndCountsTheRest) {
  for (const char* name :
       {".ipynb_checkpoints/x.jpg", ".DS_Store", "a/.DS_Store", "a/Thumbs.db", "a/1.jpg",
        "a/.hidden/2.jpg", "b/1.jpg", "b/notes.txt", "b/jpg", "beside.jpg"}) {
    folder_.Write(name);
  }
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0", "b/1.jpg=1"));
  EXPECT_EQ(
      source_->summary(),
      "2 images in 2 classes below '" + folder_.path() + "'; left out: 4 hidden (first: '" +
          (source_->summary().find("'.DS_Store'") != std::string::npos ? ".DS_Store"
                                                                       : ".ipynb_checkpoints") +
          "'), 3 other files (first: 'a/Thumbs.db'), 1 image beside the class folders");
}

TEST_F(ReadImageFolderStageTest, EmptyClassFolders) {
  folder_.Write("a/1.jpg");
  folder_.Write("a/2.jpg");
  folder_.Write("b/readme.txt");
  folder_.Write("c/1.jpg");
  const absl::Status status = Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(folder_.path()), HasSubstr("class folder 'b' "), HasSubstr(".jpeg"),
                    HasSubstr("allow_empty: true")));
  options_.set_allow_empty(true);
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0", "a/2.jpg=0", "c/1.jpg=2"));
  options_.set_allow_empty(false);
  for (const char* name : {"d", "e", "f", "g"}) folder_.MakeFolder(name);
  EXPECT_THAT(Message(), HasSubstr("'b', 'd', 'e' and 2 more"));
}

TEST_F(ReadImageFolderStageTest, NothingToRead) {
  EXPECT_EQ(Open().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(), AllOf(HasSubstr(folder_.path()), HasSubstr("no class folders"),
                               Not(HasSubstr("labels: NONE"))));
  folder_.Write("1.jpg");
  folder_.Write("2.jpg");
  EXPECT_THAT(Message(), AllOf(HasSubstr("no class folders"), HasSubstr("the 2 images in it"),
                               HasSubstr("labels: NONE")));
  folder_.MakeFolder("a");
  options_.set_allow_empty(true);
  EXPECT_EQ(Open().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(), HasSubstr("no image below it"));
}

TEST_F(ReadImageFolderStageTest, MissingOrUnreadableRoot) {
  options_.set_root("");
  EXPECT_EQ(Open().code(), absl::StatusCode::kInvalidArgument);
  options_.set_root(folder_ / "none");
  EXPECT_EQ(Open().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(),
              AllOf(HasSubstr(folder_ / "none: No such file or directory"), HasSubstr("--data")));
  options_.set_root(folder_.Write("file.jpg"));
  EXPECT_THAT(Message(), HasSubstr("file.jpg: Not a directory"));
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  folder_.Write("a/b/1.jpg");
  std::filesystem::permissions(folder_ / "a/b", std::filesystem::perms::none);
  options_.set_root(folder_ / "a/b");
  EXPECT_EQ(Open().code(), absl::StatusCode::kPermissionDenied);
  options_.set_root(folder_.path());
  EXPECT_THAT(Message(), HasSubstr("a/b: Permission denied"));
  std::filesystem::permissions(folder_ / "a/b", std::filesystem::perms::owner_all);
}

TEST_F(ReadImageFolderStageTest, WithoutLabels) {
  for (const char* name : {"2.jpg", "a/1.jpg", ".hidden/x.jpg", "b/deep/1.png"})
    folder_.Write(name);
  options_.set_labels(ReadImageFolder::NONE);
  EXPECT_THAT(Samples(), ElementsAre("2.jpg", "a/1.jpg", "b/deep/1.png"));
  EXPECT_EQ(source_->fields().Names(), "'image'");
  EXPECT_TRUE(source_->class_names().empty());
  EXPECT_EQ(source_->Locate(0).file, folder_ / "2.jpg");
}

TEST_F(ReadImageFolderStageTest, LimitTakesTheFirst) {
  for (const char* name : {"a/1.jpg", "a/2.jpg", "b/1.jpg", "c/1.jpg"}) folder_.Write(name);
  options_.set_limit(3);
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0", "a/2.jpg=0", "b/1.jpg=1"));
  EXPECT_EQ(source_->class_names().size(), 3u);
  options_.set_limit(1);
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0"));
  options_.set_limit(99);
  EXPECT_EQ(Samples().size(), 4u);
  options_.set_limit(0);
  EXPECT_EQ(Open(), absl::InvalidArgumentError("limit is 0, expected at least 1"));
}

TEST_F(ReadImageFolderStageTest, Extensions) {
  for (const char* name : {"a/1.jpg", "a/2.PGX", "a/3.tar.gz", "a/pgx"}) folder_.Write(name);
  options_.add_extensions("pgx");
  options_.add_extensions(".Tar.GZ");
  EXPECT_THAT(Samples(), ElementsAre("a/2.PGX=0", "a/3.tar.gz=0"));
  for (const char* bad : {"", ".", "a/b"}) {
    options_.clear_extensions();
    options_.add_extensions(bad);
    EXPECT_EQ(Open().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST_F(ReadImageFolderStageTest, ClassesFileFixesTheNumbers) {
  for (const char* name : {"cat/1.jpg", "dog/1.jpg"}) folder_.Write(name);
  const TempFolder elsewhere;
  options_.set_classes_file(elsewhere.Write("classes.txt", "dog\r\n\r\nfish\ncat"));
  EXPECT_THAT(Message(), AllOf(HasSubstr("no folder for 'fish'"), HasSubstr("allow_empty")));
  options_.set_allow_empty(true);
  EXPECT_THAT(Samples(), ElementsAre("cat/1.jpg=2", "dog/1.jpg=0"));
  EXPECT_THAT(source_->class_names(), ElementsAre("dog", "fish", "cat"));

  elsewhere.Write("classes.txt", "dog\nfish\ncats\n");
  EXPECT_EQ(Open().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(), AllOf(HasSubstr("folder 'cat' is no class of"), HasSubstr("classes.txt"),
                               HasSubstr("nearest one there is 'cats'")));
  elsewhere.Write("classes.txt", "dog\ncat\ndog\n");
  EXPECT_THAT(Message(), HasSubstr("classes.txt:3: 'dog' stands on line 1 already"));
  options_.set_classes_file(elsewhere / "none");
  EXPECT_EQ(Open().code(), absl::StatusCode::kNotFound);
  options_.set_labels(ReadImageFolder::NONE);
  EXPECT_EQ(Open().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReadImageFolderStageTest, FollowsLinksOnce) {
  const TempFolder elsewhere;
  elsewhere.Write("photos/1.jpg");
  folder_.Write("a/1.jpg");
  folder_.Link("a/2.jpg", "1.jpg");  // Two names of one file are two samples.
  folder_.Link("a/again", elsewhere / "photos");
  folder_.Link("a/again_too", elsewhere / "photos");
  folder_.Link("a/gone.jpg", "nowhere.jpg");
  folder_.Link("a/loop", "..");
  folder_.Link("a/self", "self");
  folder_.Link("b", elsewhere / "photos");
  folder_.Link("c", ".");
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0", "a/2.jpg=0", "a/again/1.jpg=0", "b/1.jpg=1"));
  EXPECT_THAT(source_->summary(), AllOf(HasSubstr("2 dangling links"),
                                        HasSubstr("3 links to folders that are listed")));
  options_.set_follow_symlinks(false);
  EXPECT_THAT(Samples(), ElementsAre("a/1.jpg=0"));
  EXPECT_THAT(source_->summary(), HasSubstr("8 links"));
}

// Folders that link to each other in all ways end, too.
TEST_F(ReadImageFolderStageTest, ManyLinksEnd) {
  constexpr int kFolders = 12;
  for (int i = 0; i < kFolders; ++i) {
    const std::string name = "f" + std::to_string(i);
    folder_.Write(name + "/1.jpg");
    for (int j = 0; j < kFolders; ++j) {
      folder_.Link(name + "/to" + std::to_string(j), "../f" + std::to_string(j));
    }
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_GE(*source_->size(), kFolders);
  EXPECT_LE(*source_->size(), kFolders * kFolders);
}

TEST_F(ReadImageFolderStageTest, FingerprintTellsListsApart) {
  const auto fingerprint = [&] {
    EXPECT_TRUE(Open().ok());
    return source_->fingerprint();
  };
  folder_.Write("a/1.jpg");
  folder_.Write("b/1.jpg");
  const uint64_t first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  folder_.Write("a/notes.txt");
  EXPECT_EQ(fingerprint(), first);
  folder_.Write("a/2.jpg");
  EXPECT_NE(fingerprint(), first);
  std::filesystem::remove(folder_ / "a/2.jpg");
  const TempFolder elsewhere;
  options_.set_classes_file(elsewhere.Write("classes.txt", "b\na\n"));
  EXPECT_NE(fingerprint(), first);
}

TEST_F(ReadImageFolderStageTest, FieldsPointIntoTheBytes) {
  folder_.Write("a/1.jpg");
  ASSERT_TRUE(Open().ok());
  const std::vector<std::byte> bytes(17);
  int64_t label = -1;
  Sample sample;
  sample.fields[1].address = reinterpret_cast<uint64_t>(&label);
  SampleContext context(nullptr, nullptr);
  ASSERT_TRUE(source_->Finish(bytes, sample, context).ok());
  EXPECT_EQ(sample.fields[0].data(), bytes.data());
  EXPECT_EQ(sample.fields[0].bytes, 17);
  EXPECT_EQ(label, 0);
}

}  // namespace
}  // namespace penstock
