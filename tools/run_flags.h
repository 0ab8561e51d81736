// The flags of `penstock run`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "penstock/tools/graph_flags.h"

namespace penstock {

struct RunFlags {
  GraphFlags graph;
  std::optional<double> sim_gb_per_s;
  int64_t epochs = 1;
  int64_t max_batches = std::numeric_limits<int64_t>::max();  // Of each output.
  std::optional<uint64_t> seed;
  bool seed_is_random = false;  // --seed=random: it was drawn.
  int64_t rank = 0, world = 1;
  int64_t threads = 0;
  bool check_leases = false;
  std::string progress = "auto";
  std::string stats_json, dump_npy;  // Empty: not asked for.
  std::optional<double> compute_ms;  // The consumer's work on each batch.
};

// A wrong value ends the parsing with a CLI::ParseError.
void AddRunFlags(CLI::App& command, RunFlags& flags);

}  // namespace penstock
