#include "penstock/tools/run_flags.h"

#include <random>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "penstock/tools/flag_values.h"

namespace penstock {
namespace {

constexpr int64_t kMany = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxEpochs = 1'000'000'000, kMaxThreads = 4096;
constexpr double kMaxGbPerS = 1e6, kMaxComputeMs = 3.6e6;  // An hour.

uint64_t DrawSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

void AddSeed(CLI::App& command, RunFlags& flags) {
  const auto take = [&flags](const std::string& text) {
    uint64_t seed = 0;
    flags.seed_is_random = text == "random";
    if (!flags.seed_is_random && !absl::SimpleAtoi(text, &seed)) {
      throw CLI::ValidationError(
          "--seed", absl::StrCat("\"", text, "\" is not \"random\" or a whole number from 0 to ",
                                 std::numeric_limits<uint64_t>::max()));
    }
    flags.seed = flags.seed_is_random ? DrawSeed() : seed;
  };
  command
      .add_option_function<std::string>(
          "--seed", take, "Overrides the graph's seed; random draws one and prints it")
      ->type_name("N|random");
}

// What part of the data, how, and how carefully.
void AddRange(CLI::App& command, RunFlags& flags) {
  AddInteger(command, "--epochs", 0, kMaxEpochs, "Times to go over the data [1]", flags.epochs);
  AddInteger(command, "--max_batches", 0, kMany, "Ends the run after so many batches",
             flags.max_batches);
  AddSeed(command, flags);
  AddInteger(command, "--rank", 0, kMaxWorld - 1, "Number of this process among --world [0]",
             flags.rank);
  AddInteger(command, "--world", 1, kMaxWorld, "Processes that share each epoch [1]", flags.world);
  AddInteger(command, "--threads", 0, kMaxThreads,
             "Threads that work on samples; 0: what the machine allows [0]", flags.threads);
  command.add_flag("--check_leases", flags.check_leases,
                   "Finds who writes into a batch after releasing it; slow, for debugging");
}

// What stands for the device and its user.
void AddModel(CLI::App& command, RunFlags& flags) {
  AddNumber(command, "--sim_gb_per_s", kMaxGbPerS,
            "Bandwidth of --device=sim, 10^9 bytes a second; 0: copies take no time [0]",
            flags.sim_gb_per_s);
  AddNumber(command, "--compute_ms", kMaxComputeMs,
            "Milliseconds of work on the compute stream for each batch [0]", flags.compute_ms);
}

void AddOutputs(CLI::App& command, RunFlags& flags) {
  AddChoice(command, "--progress", {"auto", "on", "off"},
            "A progress line on stderr; auto: if that is a terminal [auto]", flags.progress);
  command.add_option("--stats_json", flags.stats_json, "Writes what was measured to FILE")
      ->type_name("FILE");
  command
      .add_option("--dump_npy", flags.dump_npy,
                  "Writes every delivered tensor, read back from the device, into DIR")
      ->type_name("DIR");
}

}  // namespace

void AddRunFlags(CLI::App& command, RunFlags& flags) {
  AddGraphFlags(command, flags.graph);
  AddRange(command, flags);
  AddModel(command, flags);
  AddOutputs(command, flags);
  for (const char* planned : {"--trace", "--errors", "--save_state", "--resume"}) {
    AddPlanned(command, planned);
  }
}

}  // namespace penstock
