// Decodes files by the device form of DecodeImage alone, without a pipeline. For checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/memory/device.h"
#include "penstock/stages/device_stage.h"
#include "penstock/stages/sample_stage.h"

namespace penstock {

struct JpegTask {
  absl::Span<const std::byte> file;
  ImageSize size;  // The whole image's.
  Region region;   // What is wanted, within it.
};

struct JpegOutcome {
  bool taken = false;  // False: the form leaves the file to the host.
  int32_t status = 0;  // As the form wrote it: not 0 where the host has the last word.
  bool inside = true;  // No byte beside the row's pixels was written.
  absl::Span<const uint8_t> pixels;  // Until the next Decode(); kUnwritten before.
};

// What the host's stage makes of a task.
struct HostJpeg {
  absl::Status status;
  std::vector<uint8_t> pixels;
};

// Thread-compatible. Its memory only grows, and only where a call needs more than any before.
class DeviceJpegs {
 public:
  // What pixels, and the memory beside them, are before a call.
  static constexpr uint8_t kUnwritten = 0xCD;

  // Images above `max_pixels` are refused.
  static absl::StatusOr<std::unique_ptr<DeviceJpegs>> Create(std::shared_ptr<Device> device,
                                                             int64_t max_pixels);

  // The size in the header, as the host's stage reads it.
  absl::StatusOr<ImageSize> Probe(absl::Span<const std::byte> file) const;
  // All tasks as one batch. A status is the device's own failure, not that of a file.
  absl::StatusOr<std::vector<JpegOutcome>> Decode(absl::Span<const JpegTask> tasks);
  // By the host's stage. Thread-safe.
  HostJpeg DecodeOnHost(const JpegTask& task) const;
  // Device memory that one task needs beside its file.
  size_t DeviceBytes(const JpegTask& task) const;

 private:
  struct Layout;

  DeviceJpegs(std::shared_ptr<Device> device, std::unique_ptr<SampleStage> host,
              std::unique_ptr<DeviceStage> form, std::unique_ptr<Stream> stream);
  absl::Status Reserve(const Layout& layout);
  absl::Status Fill(absl::Span<const JpegTask> tasks, Layout& layout);
  absl::Status Run(const Layout& layout);

  std::shared_ptr<Device> device_;
  std::unique_ptr<SampleStage> host_;
  std::unique_ptr<DeviceStage> form_;
  std::unique_ptr<Stream> stream_;
  // Tables and files, and rows; on the host, and their copies on the device.
  Buffer slab_, rows_, device_slab_, device_rows_, scratch_;
};

}  // namespace penstock
