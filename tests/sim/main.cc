// SPDX-License-Identifier: BSD-2-Clause
// urxe_sim: runs the seeded simulator.
//
//   urxe_sim --seed N [--count M] [--verbose] [--twice]
//
// Runs the seeds N .. N+M-1. --verbose prints one line a packet; --twice runs each seed two times
// and compares. Stops at the first failure, printing the seed, its plan and the command to replay
// it.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/sim/failure.h"
#include "tests/sim/simulation.h"

namespace {

using urxe::sim::Outcome;

struct Options {
  uint64_t seed = 1;
  uint64_t count = 1;
  bool verbose = false;
  bool twice = false;
};

bool parse_number(const char* text, uint64_t& value) {
  const char* end = text + std::strlen(text);
  const auto result = std::from_chars(text, end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--verbose") {
      options.verbose = true;
    } else if (name == "--twice") {
      options.twice = true;
    } else if (name == "--seed" && i + 1 < argc) {
      if (!parse_number(argv[++i], options.seed)) return false;
    } else if (name == "--count" && i + 1 < argc) {
      if (!parse_number(argv[++i], options.count)) return false;
    } else {
      return false;
    }
  }
  return true;
}

void run_seed(const Options& options, uint64_t seed, Outcome& total) {
  const urxe::sim::Plan plan = urxe::sim::draw_plan(seed);
  if (options.verbose) std::fputs(plan.describe().c_str(), stdout);
  const Outcome outcome = urxe::sim::Simulation(plan, options.verbose).run();
  if (options.twice) {
    const Outcome again = urxe::sim::Simulation(plan, false).run();
    urxe::sim::require(again.digest == outcome.digest && again.packets == outcome.packets,
                       [] { return std::string("the same seed did not give the same run"); });
  }
  total.packets += outcome.packets;
  total.completions += outcome.completions;
  total.retransmissions += outcome.retransmissions;
  total.failed_sides += outcome.failed_sides;
}

void report_failure(const char* program, uint64_t seed, const char* what) {
  std::printf("FAILED seed %llu: %s\n%sreplay: %s --seed %llu --verbose\n",
              static_cast<unsigned long long>(seed), what,
              urxe::sim::draw_plan(seed).describe().c_str(), program,
              static_cast<unsigned long long>(seed));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fputs("usage: urxe_sim [--seed N] [--count M] [--verbose] [--twice]\n", stderr);
    return 2;
  }
  Outcome total;
  for (uint64_t i = 0; i < options.count; ++i) {
    const uint64_t seed = options.seed + i;
    try {
      run_seed(options, seed, total);
    } catch (const std::exception& failure) {
      std::fflush(stdout);
      report_failure(argv[0], seed, failure.what());
      return 1;
    }
  }
  std::printf(
      "%llu seeds passed: %llu packets, %llu of them repeated requests, %llu completions, "
      "%llu queue pairs ran out of retries\n",
      static_cast<unsigned long long>(options.count),
      static_cast<unsigned long long>(total.packets),
      static_cast<unsigned long long>(total.retransmissions),
      static_cast<unsigned long long>(total.completions),
      static_cast<unsigned long long>(total.failed_sides));
  return 0;
}
