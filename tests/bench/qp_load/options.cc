// SPDX-License-Identifier: BSD-2-Clause
#include "tests/bench/qp_load/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace bench {

namespace {

// Of all queue pairs together, in flight.
constexpr uint32_t kRequests = 4096;

}  // namespace

Options parse(int argc, char** argv) {
  const std::map<std::string, Pattern> patterns{{"all", Pattern::kAll},
                                                {"one", Pattern::kOne},
                                                {"idle", Pattern::kIdle},
                                                {"within", Pattern::kWithin}};
  const std::map<std::string, Target> targets{
      {"sleeps", Target::kSleeps}, {"polls", Target::kPolls}, {"computes", Target::kComputes}};
  Options options;
  CLI::App app{
      "Two processes of this host, connected by many RC queue pairs of the first device.\n"
      "Prints one line of JSON.",
      "urxe_qp_load"};
  app.add_option("--pattern", options.pattern,
                 "all: WRITEs on all; one: a ping-pong on one; idle; "
                 "within: one process, in which each thread writes from one queue pair to another")
      ->transform(CLI::CheckedTransformer(patterns));
  app.add_option("--target", options.target, "what the other process does meanwhile")
      ->transform(CLI::CheckedTransformer(targets));
  app.add_option("--qps", options.qps, "queue pairs")->check(CLI::Range(1, 30000));
  app.add_option("--depth", options.depth,
                 "length of a send queue, for all and idle; 0: for all, 4096 together, 2 to 128 "
                 "each; else 1")
      ->check(CLI::Range(0, 4096));
  app.add_option("--size", options.bytes, "bytes of a WRITE")->check(CLI::Range(1, 1 << 24));
  app.add_option("--threads", options.threads, "of the process that writes")
      ->check(CLI::Range(1, 64));
  app.add_option("--seconds", options.seconds, "measured")->check(CLI::Range(0.1, 600.0));
  app.add_option("--gid-index", options.gid_index)->check(CLI::Range(0, 255));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (options.pattern != Pattern::kWithin) options.threads = std::min(options.threads, options.qps);
  const bool all = options.pattern == Pattern::kAll;
  const bool idle = options.pattern == Pattern::kIdle;
  if (!all && (!idle || options.depth == 0)) options.depth = 1;
  if (options.depth == 0) options.depth = std::clamp<uint32_t>(kRequests / options.qps, 2, 128);
  return options;
}

}  // namespace bench
