// For tests and benchmarks: a call of the decoder, with all the memory that it needs.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/memory/cuda_device.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_decoder_cuda.h"

namespace penstock {

class JpegCall {
 public:
  struct Input {
    absl::Span<const std::byte> file;
    JpegDescriptor descriptor;  // Of the file.
    Region region;
    size_t shift = 0;  // Bytes that the file lies off a multiple of 16 on the device.
  };

  // Copies the files to the device; image i is row `inputs.size() - 1 - i`.
  static absl::StatusOr<std::unique_ptr<JpegCall>> Create(std::shared_ptr<CudaDevice> device,
                                                          absl::Span<const Input> inputs);

  // With `events`, as EnqueueJpegSteps().
  absl::Status Enqueue(const cudaEvent_t* events = nullptr);
  absl::Status Synchronize() { return device_->Synchronize(stream_->ref()); }
  cudaStream_t stream() const;
  const JpegImages& images() const { return images_; }

  // Copies back what the last call has left, and waits for it.
  absl::Status Fetch();
  const std::vector<JpegPlanes>& planes() const { return planes_; }  // By row.
  const std::vector<int32_t>& status() const { return status_; }     // By row.
  const std::vector<std::byte>& memory() const { return memory_; }   // The scratch memory.
  uint64_t memory_address() const { return reinterpret_cast<uint64_t>(scratch_.data()); }

 private:
  explicit JpegCall(std::shared_ptr<CudaDevice> device) : device_(std::move(device)) {}
  absl::Status Prepare(absl::Span<const Input> inputs);
  absl::Status PlaceFiles(absl::Span<const Input> inputs);
  template <class T>
  absl::StatusOr<T*> Upload(const std::vector<T>& host, Buffer& buffer);
  template <class T>
  absl::Status Download(const T* device, std::vector<T>& host);

  const std::shared_ptr<CudaDevice> device_;
  std::unique_ptr<Stream> stream_;
  std::vector<int32_t> rows_, status_;
  std::vector<JpegDescriptor> descriptors_;
  std::vector<FieldView> files_, pixels_;
  std::vector<JpegPlanes> planes_;
  std::vector<std::byte> memory_, slab_;
  Buffer device_slab_, device_rows_, device_descriptors_, device_files_, device_pixels_,
      device_status_, scratch_;
  JpegImages images_;
  JpegDecoded decoded_;
};

}  // namespace penstock
