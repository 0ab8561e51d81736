// The source of penstock.ReadCifar10; see read_cifar10.proto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/stages/read/read_cifar10.pb.h"
#include "penstock/stages/source.h"

namespace penstock {

class ReadCifar10Stage final : public TypedSource<ReadCifar10> {
 public:
  std::optional<int64_t> size() const override { return size_; }
  SampleSpec fields() const override;
  std::vector<std::string> class_names() const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::string summary() const override;
  std::string key(int64_t id) const override;
  Extent Locate(int64_t id) const override;
  absl::Status Finish(absl::Span<const std::byte> bytes, Sample& sample,
                      SampleContext& context) const override;

 private:
  struct File {
    std::string name, path;
    int64_t first_id;
  };

  absl::Status Init() override;
  absl::Status AddFile(const std::string& folder, const std::string& name);
  const File& FileOf(int64_t id) const;

  std::string folder_;
  std::vector<File> files_;
  int64_t size_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace penstock
