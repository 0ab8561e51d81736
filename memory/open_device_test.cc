#include "penstock/memory/open_device.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "penstock/memory/open_cuda.h"

namespace penstock {
namespace {

using ::testing::MatchesRegex;

constexpr char kFakeDriver[] = "LD_LIBRARY_PATH=memory/testing/fake_driver ";

// What the probe prints in an environment of `variables` ("NAME=value ", each with a space).
std::string Probe(const std::string& variables, const std::string& device) {
  const std::string command = "env -u CUDA_VISIBLE_DEVICES " + variables +
                              "memory/testing/open_device_probe '" + device + "' 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  std::string output;
  char chunk[256];
  while (std::fgets(chunk, sizeof chunk, pipe) != nullptr) output += chunk;
  pclose(pipe);
  return output;
}

std::string Unusable(const std::string& why, const std::string& visible) {
  return "FAILED_PRECONDITION: the CUDA driver is there but shows no usable device: " + why + " (" +
         visible + "); --device=host runs on the CPU\n";
}

TEST(OpenDevice, OpensTheCpu) {
  EXPECT_EQ(OpenDevice("host").value()->name(), "host");
  EXPECT_EQ(OpenDevice("sim").value()->name(), "sim");
  EXPECT_EQ(OpenDevice("sim", {.name = "small"}).value()->name(), "small");
  EXPECT_EQ(OpenDevice("host", {.name = "small"}).value()->name(), "host");
}

TEST(OpenDevice, OpensSeveral) {
  const auto devices = OpenDevices("sim,host,sim", {.name = "small"}).value();
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0]->name(), "small");
  EXPECT_EQ(devices[1]->name(), "host");
  EXPECT_NE(devices[0], devices[2]);
  EXPECT_EQ(OpenDevices("host").value().size(), 1u);
  for (const char* const names : {"", ",", "sim,", "sim,,sim", "sim, sim"}) {
    EXPECT_EQ(OpenDevices(names).status().code(), absl::StatusCode::kInvalidArgument) << names;
  }
  EXPECT_EQ(OpenDevices("sim,gpu,also").status(), OpenDevice("gpu").status());
}

TEST(OpenDevice, TheHostModelsNoTimeButTakesFaults) {
  const absl::Status fault = absl::DataLossError("an injected fault");
  const SimOptions slow = {
      .gb_per_s = 1e-12,  // A byte would take 17 minutes.
      .copy_latency = absl::Hours(1),
      .fail_copy = [&](size_t, int64_t call) { return call == 2 ? fault : absl::OkStatus(); }};
  const auto host = OpenDevice("host", slow).value();
  const auto stream = host->CreateStream().value();
  std::byte from{1}, to{0};
  EXPECT_EQ(host->CopyToDevice(&to, &from, 1, stream->ref()), absl::OkStatus());
  EXPECT_EQ(host->Synchronize(stream->ref()), absl::OkStatus());
  EXPECT_EQ(to, std::byte{1});
  EXPECT_EQ(host->CopyToDevice(&to, &from, 1, stream->ref()), fault);
}

TEST(OpenDevice, RefusesWrongNames) {
  for (const char* const name : {"", "gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:+1", "cuda: 1",
                                 "cuda:1x", "cuda:99999999999", "Host", "auto "}) {
    EXPECT_EQ(OpenDevice(name).status(),
              absl::InvalidArgumentError(
                  "device \"" + std::string(name) +
                  "\": expected auto, cuda, cuda:N with N = 0, 1, ..., host, or sim"));
  }
}

TEST(ParseDeviceName, SaysWhatIsAskedForWithoutOpeningIt) {
  using Form = DeviceName::Form;
  EXPECT_EQ(ParseDeviceName("auto").value().form, Form::kAuto);
  EXPECT_EQ(ParseDeviceName("host").value().form, Form::kHost);
  EXPECT_EQ(ParseDeviceName("sim").value().form, Form::kSim);
  EXPECT_EQ(ParseDeviceName("cuda").value().form, Form::kCuda);
  EXPECT_EQ(ParseDeviceName("cuda").value().ordinal, std::nullopt);
  EXPECT_EQ(ParseDeviceName("cuda:17").value().form, Form::kCuda);
  EXPECT_EQ(ParseDeviceName("cuda:17").value().ordinal, 17);
  EXPECT_EQ(ParseDeviceName("cuda:x").status(), OpenDevice("cuda:x").status());
}

TEST(OpenDevice, RefusesSpeedsThatAreNone) {
  for (const double speed : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_EQ(OpenDevice("sim", {.gb_per_s = speed}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(
      OpenDevice("sim", {.gb_per_s = -1, .copy_latency = absl::Milliseconds(2)}).status(),
      absl::InvalidArgumentError("device sim: expected a bandwidth of 0 GB/s or more and a latency "
                                 "of 0 or more, got -1 GB/s and 2ms"));
  EXPECT_EQ(OpenDevice("sim", {.copy_latency = -absl::Seconds(1)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OpenDevice, AutoIsTheHostWhereThereIsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  EXPECT_THAT(Probe("", "auto"),
              MatchesRegex("warning: no CUDA driver: libcuda.so.1: cannot open shared object file: "
                           "[^\n]*; running on the CPU, as with --device=host\nhost\n"));
  std::string warning;
  EXPECT_EQ(OpenDevice("auto").value()->name(), "host");  // Without anybody to warn.
  EXPECT_EQ(OpenDevice("auto", {}, &warning).value()->name(), "host");
  EXPECT_NE(warning, "");
}

TEST(OpenDevice, CudaIsNeverTheHost) {
  if (!BuiltWithCuda()) GTEST_SKIP() << "built without CUDA";
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  for (const char* const name : {"cuda", "cuda:0"}) {
    EXPECT_THAT(OpenDevice(name).status().ToString(),
                MatchesRegex("FAILED_PRECONDITION: no CUDA driver: libcuda.so.1: .*; --device=host "
                             "runs on the CPU"));
  }
  EXPECT_EQ(CurrentCudaDevice().status(), OpenDevice("cuda").status());
}

TEST(OpenDevice, ADriverWithoutADeviceIsAnError) {
  const std::string none = std::string(kFakeDriver) + "FAKE_CUDA_INIT=100 ";
  EXPECT_EQ(Probe(none, "auto"),
            Unusable("cuInit gave CUDA_ERROR_NO_DEVICE(100)", "CUDA_VISIBLE_DEVICES is not set"));
  EXPECT_EQ(Probe(none + "CUDA_VISIBLE_DEVICES= ", "auto"),
            Unusable("cuInit gave CUDA_ERROR_NO_DEVICE(100)", "CUDA_VISIBLE_DEVICES="));
  EXPECT_EQ(Probe(std::string(kFakeDriver) + "FAKE_CUDA_INIT=3 ", "auto"),
            Unusable("cuInit gave CUDA error (3)", "CUDA_VISIBLE_DEVICES is not set"));
  EXPECT_EQ(Probe(kFakeDriver, "auto"),
            Unusable("it counts 0 devices", "CUDA_VISIBLE_DEVICES is not set"));
  EXPECT_EQ(Probe(none, "host"), "host\n");
  if (BuiltWithCuda()) {
    EXPECT_EQ(Probe(none, "cuda"), Probe(none, "auto"));
    EXPECT_EQ(Probe(none, "cuda:1"), Probe(none, "auto"));
  }
}

TEST(OpenDevice, ANumberThatIsNotThereIsRefused) {
  if (!BuiltWithCuda()) GTEST_SKIP() << "built without CUDA";
  const std::string one = std::string(kFakeDriver) + "FAKE_CUDA_DEVICES=1 ";
  EXPECT_EQ(Probe(one + "CUDA_VISIBLE_DEVICES=5 ", "cuda:3"),
            "INVALID_ARGUMENT: asked for cuda:3, 1 device is visible (CUDA_VISIBLE_DEVICES=5)\n");
  EXPECT_EQ(Probe(std::string(kFakeDriver) + "FAKE_CUDA_DEVICES=2 ", "cuda:2"),
            "INVALID_ARGUMENT: asked for cuda:2, 2 devices are visible (CUDA_VISIBLE_DEVICES is "
            "not set)\n");
  // Only the driver knows what is visible: the variable is shown, and never read as numbers.
  EXPECT_EQ(Probe(one + "CUDA_VISIBLE_DEVICES=GPU-0ab1,7,MIG-2 ", "cuda:1"),
            "INVALID_ARGUMENT: asked for cuda:1, 1 device is visible "
            "(CUDA_VISIBLE_DEVICES=GPU-0ab1,7,MIG-2)\n");
}

TEST(OpenDevice, ABuildWithoutCudaSaysSo) {
  if (BuiltWithCuda()) GTEST_SKIP() << "built with CUDA";
  const absl::Status expected =
      absl::FailedPreconditionError("built without CUDA (--config=nocuda)");
  EXPECT_EQ(OpenDevice("cuda:3").status(), expected);
  EXPECT_EQ(OpenDevice("cuda").status(), expected);
  EXPECT_EQ(CurrentCudaDevice().status(), expected);
  EXPECT_EQ(Probe(std::string(kFakeDriver) + "FAKE_CUDA_DEVICES=1 ", "auto"),
            "FAILED_PRECONDITION: built without CUDA (--config=nocuda); --device=host runs on the "
            "CPU\n");
}

}  // namespace
}  // namespace penstock
