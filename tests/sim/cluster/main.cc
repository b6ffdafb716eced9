// SPDX-License-Identifier: BSD-2-Clause
// urxe_cluster: hosts that run urxe's transport, around a switch, in virtual time.
//
//   urxe_cluster [--hosts N] [--pattern incast|permutation|all-to-all] [--peers N]
//                [--bytes N] [--messages N] [--depth N] [--read] [--mtu N]
//                [--rate BITS_PER_SECOND] [--delay NS] [--port BYTES] [--mark BYTES] [--loss PPM]
//                [--go-back] [--seed N] [--twice] [--json FILE] [--plot FILE.svg]
//                [--least-goodput F] [--least-share F] [--most-share F]
//
// Prints what happened; the same options give the same figures. --twice runs it two times and
// compares. Exit code 1: a flow failed, or a figure is beyond one of the last three options.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "tests/sim/cluster/figures.h"
#include "tests/sim/cluster/plot.h"
#include "tests/sim/failure.h"

namespace {

using urxe::sim::Cluster;
using urxe::sim::ClusterFigures;
using urxe::sim::ClusterPlan;

struct Options {
  ClusterPlan plan;
  bool twice = false;
  std::string json;
  std::string plot;
  std::optional<double> least_goodput;
  std::optional<double> least_share;
  std::optional<double> most_share;
};

template <class Number>
bool parse_number(const char* words, Number& value) {
  const char* end = words + std::strlen(words);
  const auto result = std::from_chars(words, end, value);
  return result.ec == std::errc() && result.ptr == end;
}

bool parse_ratio(const char* words, std::optional<double>& value) {
  return parse_number(words, value.emplace());
}

/// Takes an option without a value. False: it is none.
bool take_flag(std::string_view name, Options& options) {
  if (name == "--read") {
    options.plan.reads = true;
  } else if (name == "--go-back") {
    options.plan.keeps_requests = false;
  } else if (name == "--twice") {
    options.twice = true;
  } else {
    return false;
  }
  return true;
}

bool take_value(std::string_view name, const char* value, Options& options) {
  ClusterPlan& plan = options.plan;
  if (name == "--pattern") {
    const urxe::sim::Pattern* pattern = urxe::sim::find_pattern(value);
    if (pattern != nullptr) plan.pattern = *pattern;
    return pattern != nullptr;
  }
  if (name == "--json") return options.json = value, true;
  if (name == "--plot") return options.plot = value, true;
  if (name == "--hosts") return parse_number(value, plan.hosts);
  if (name == "--peers") return parse_number(value, plan.peers);
  if (name == "--bytes") return parse_number(value, plan.message_bytes);
  if (name == "--messages") return parse_number(value, plan.messages);
  if (name == "--depth") return parse_number(value, plan.depth);
  if (name == "--mtu") return parse_number(value, plan.path_mtu);
  if (name == "--rate") return parse_number(value, plan.bits_per_second);
  if (name == "--delay") return parse_number(value, plan.delay.ns);
  if (name == "--port") return parse_number(value, plan.port_bytes);
  if (name == "--mark") return parse_number(value, plan.mark_bytes);
  if (name == "--loss") return parse_number(value, plan.loss_per_million);
  if (name == "--seed") return parse_number(value, plan.seed);
  if (name == "--least-goodput") return parse_ratio(value, options.least_goodput);
  if (name == "--least-share") return parse_ratio(value, options.least_share);
  if (name == "--most-share") return parse_ratio(value, options.most_share);
  return false;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    if (take_flag(argv[i], options)) continue;
    if (i + 1 == argc || !take_value(argv[i], argv[i + 1], options)) {
      std::fprintf(stderr, "urxe_cluster: cannot read %s %s\n", argv[i],
                   i + 1 < argc ? argv[i + 1] : "");
      return false;
    }
    ++i;
  }
  const std::string error = urxe::sim::plan_error(options.plan);
  if (!error.empty()) std::fprintf(stderr, "urxe_cluster: %s\n", error.c_str());
  return error.empty();
}

bool write_file(const std::string& name, const std::string& contents) {
  if (name.empty()) return true;
  std::ofstream file(name);
  file << contents;
  file.close();
  if (!file) std::fprintf(stderr, "urxe_cluster: cannot write %s\n", name.c_str());
  return !file.fail();
}

void check_bounds(const Options& options, const ClusterFigures& figures) {
  using urxe::sim::require;
  using urxe::sim::text;
  if (options.least_goodput) {
    require(figures.goodput >= *options.least_goodput,
            [&] { return text("the goodput is less than %.3f", *options.least_goodput); });
  }
  if (options.least_share) {
    require(figures.least_share >= *options.least_share,
            [&] { return text("a flow had less than %.3f of its share", *options.least_share); });
  }
  if (options.most_share) {
    require(figures.most_share <= *options.most_share,
            [&] { return text("a flow had more than %.3f of its share", *options.most_share); });
  }
}

int run(const Options& options) {
  Cluster cluster(options.plan);
  cluster.run();
  const ClusterFigures figures = figures_of(cluster);
  const std::string account = describe(options.plan, figures);
  std::fputs(account.c_str(), stdout);
  if (options.twice) {
    Cluster again(options.plan);
    again.run();
    urxe::sim::require(again.digest() == cluster.digest(),
                       [] { return std::string("the same seed did not give the same run"); });
  }
  const std::string title = account.substr(0, account.find('\n'));
  if (!write_file(options.json, to_json(options.plan, figures)) ||
      !write_file(options.plot, plot(cluster, title))) {
    return 2;
  }
  check_bounds(options, figures);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return 2;
  try {
    return run(options);
  } catch (const urxe::sim::Failure& failure) {
    std::printf("FAILED: %s\n", failure.what());
    return 1;
  }
}
