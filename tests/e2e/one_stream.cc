// one_stream GB_PER_S BYTES BATCHES: what a consumer does who copies each batch and computes on it
// in one stream, the two taking equally long. Prints the seconds that it took.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "penstock/memory/check.h"
#include "penstock/memory/sim_device.h"

using penstock::Buffer;
using penstock::HostMemory;
using penstock::SimDevice;
using penstock::SimOptions;

int main(int argc, char** argv) {
  PENSTOCK_CHECK(argc == 4, "usage: one_stream GB_PER_S BYTES BATCHES");
  SimOptions options;
  options.gb_per_s = std::atof(argv[1]);
  const auto bytes = static_cast<size_t>(std::atoll(argv[2]));
  const int batches = std::atoi(argv[3]);

  const auto device = SimDevice::Create(options);
  const auto stream = device->CreateStream().value();
  const Buffer from = device->AllocateHost(bytes, HostMemory::kPinned).value();
  const Buffer to = device->AllocateDevice(bytes).value();
  const absl::Duration compute =
      absl::Seconds(static_cast<double>(bytes) / (options.gb_per_s * 1e9));
  const absl::Time start = absl::Now();
  for (int i = 0; i < batches; ++i) {
    absl::Status status = device->CopyToDevice(to.data(), from.data(), bytes, stream->ref());
    if (status.ok()) status = device->Occupy(stream->ref(), compute);
    PENSTOCK_CHECK(status.ok(), std::string(status.message()));
  }
  PENSTOCK_CHECK(device->Synchronize(stream->ref()).ok(), "the device has failed");
  std::printf("%.3f s\n", absl::ToDoubleSeconds(absl::Now() - start));
}
