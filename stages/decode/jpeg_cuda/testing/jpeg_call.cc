#include "penstock/stages/decode/jpeg_cuda/testing/jpeg_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "penstock/memory/cuda_status.h"
#include "penstock/memory/status_macros.h"
#include "penstock/stages/decode/jpeg_cuda/jpeg_batch.h"

namespace penstock {
namespace {

constexpr size_t kWord = 16;
// Left in scratch memory before a call, which must not count on anything.
constexpr std::byte kLeftOver{0xA5};

}  // namespace

absl::StatusOr<std::unique_ptr<JpegCall>> JpegCall::Create(std::shared_ptr<CudaDevice> device,
                                                           absl::Span<const Input> inputs) {
  std::unique_ptr<JpegCall> call(new JpegCall(std::move(device)));
  PENSTOCK_RETURN_IF_ERROR(call->Prepare(inputs));
  return call;
}

cudaStream_t JpegCall::stream() const {
  return reinterpret_cast<cudaStream_t>(stream_->ref().handle());
}

template <class T>
absl::StatusOr<T*> JpegCall::Upload(const std::vector<T>& host, Buffer& buffer) {
  const size_t bytes = host.size() * sizeof(T);
  PENSTOCK_ASSIGN_OR_RETURN(buffer, device_->AllocateDevice(std::max<size_t>(bytes, 1)));
  PENSTOCK_RETURN_IF_ERROR(device_->CopyToDevice(
      buffer.data(), reinterpret_cast<const std::byte*>(host.data()), bytes, stream_->ref()));
  return reinterpret_cast<T*>(buffer.data());
}

template <class T>
absl::Status JpegCall::Download(const T* device, std::vector<T>& host) {
  return device_->CopyToHost(reinterpret_cast<std::byte*>(host.data()),
                             reinterpret_cast<const std::byte*>(device), host.size() * sizeof(T),
                             stream_->ref());
}

absl::Status JpegCall::PlaceFiles(absl::Span<const Input> inputs) {
  std::vector<size_t> at;
  size_t end = 0;
  for (const Input& input : inputs) {
    at.push_back(end + input.shift);
    end = (at.back() + input.file.size() + kWord - 1) / kWord * kWord;
  }
  slab_.resize(end);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(slab_.data() + at[i], inputs[i].file.data(), inputs[i].file.size());
  }
  PENSTOCK_ASSIGN_OR_RETURN(const std::byte* const slab, Upload(slab_, device_slab_));
  for (size_t i = 0; i < inputs.size(); ++i) {
    FieldView& file = files_.emplace_back();
    file.address = reinterpret_cast<uint64_t>(slab) + at[i];
    file.bytes = static_cast<int64_t>(inputs[i].file.size());
  }
  return absl::OkStatus();
}

absl::Status JpegCall::Prepare(absl::Span<const Input> inputs) {
  PENSTOCK_ASSIGN_OR_RETURN(stream_, device_->CreateStream());
  PENSTOCK_RETURN_IF_ERROR(PlaceFiles(inputs));
  const auto count = static_cast<int32_t>(inputs.size());
  size_t scratch_bytes = JpegCallScratchBytes(count);
  for (int32_t i = 0; i < count; ++i) {
    const Input& input = inputs[i];
    rows_.push_back(count - 1 - i);
    descriptors_.push_back(input.descriptor);
    pixels_.emplace_back().region = input.region;
    scratch_bytes += JpegImageScratchBytes(input.descriptor, input.region);
  }
  status_.assign(count, -1);
  planes_.resize(count);
  memory_.assign(scratch_bytes, kLeftOver);
  images_.count = count;
  images_.host_rows = rows_.data();
  images_.host_descriptors = descriptors_.data();
  images_.host_pixels = pixels_.data();
  PENSTOCK_ASSIGN_OR_RETURN(images_.rows, Upload(rows_, device_rows_));
  PENSTOCK_ASSIGN_OR_RETURN(images_.descriptors, Upload(descriptors_, device_descriptors_));
  PENSTOCK_ASSIGN_OR_RETURN(images_.files, Upload(files_, device_files_));
  PENSTOCK_ASSIGN_OR_RETURN(images_.pixels, Upload(pixels_, device_pixels_));
  PENSTOCK_ASSIGN_OR_RETURN(images_.status, Upload(status_, device_status_));
  PENSTOCK_RETURN_IF_ERROR(Upload(memory_, scratch_).status());
  return Synchronize();
}

absl::Status JpegCall::Enqueue(const cudaEvent_t* events) {
  const CudaScope scope = device_->Enter();
  PENSTOCK_RETURN_IF_ERROR(scope.status());
  return CudaStatus(EnqueueJpegSteps(images_, scratch_.data(), stream(), events, decoded_),
                    "EnqueueJpegSteps");
}

absl::Status JpegCall::Fetch() {
  std::vector<JpegPlanes> planes(planes_.size());
  PENSTOCK_RETURN_IF_ERROR(Download(decoded_.planes, planes));
  PENSTOCK_RETURN_IF_ERROR(Download(images_.status, status_));
  PENSTOCK_RETURN_IF_ERROR(Download(scratch_.data(), memory_));
  PENSTOCK_RETURN_IF_ERROR(Synchronize());
  for (size_t i = 0; i < rows_.size(); ++i) planes_[rows_[i]] = planes[i];
  return absl::OkStatus();
}

}  // namespace penstock
