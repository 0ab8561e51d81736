// The source of penstock.ReadImageFolder; see read_image_folder.proto.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/stages/read/folder_walk.h"
#include "penstock/stages/read/image_list.h"
#include "penstock/stages/read/read_image_folder.pb.h"
#include "penstock/stages/source.h"

namespace penstock {

class ReadImageFolderStage final : public TypedSource<ReadImageFolder> {
 public:
  std::optional<int64_t> size() const override { return images_.size(); }
  SampleSpec fields() const override;
  std::vector<std::string> class_names() const override { return class_names_; }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::string summary() const override { return summary_; }
  std::string key(int64_t id) const override;
  Extent Locate(int64_t id) const override;
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext& context) const override;

 private:
  absl::Status Init() override;
  absl::Status CheckOptions() const;
  bool labelled() const { return options().labels() != ReadImageFolder::NONE; }
  std::vector<std::string> Extensions() const;
  absl::Status WalkClasses(FolderWalk& walk);
  absl::Status NumberClasses(const std::vector<std::string>& folders,
                             std::map<std::string, int32_t>& labels);
  absl::Status NoClasses(const std::vector<FolderWalk::Entry>& entries) const;
  absl::Status NoImages() const;
  void Summarise(const LeftOut& left_out);

  std::string root_;
  ImageList images_;
  std::vector<std::string> class_names_;  // By label; Printable().
  int64_t beside_classes_ = 0;            // Images directly in the root.
  std::string summary_;
  uint64_t fingerprint_ = 0;
};

}  // namespace penstock
