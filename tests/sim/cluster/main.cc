// SPDX-License-Identifier: BSD-2-Clause
// urxe_cluster: hosts that run urxe's transport, around a switch, in virtual time.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/sim/cluster/figures.h"
#include "tests/sim/cluster/options.h"
#include "tests/sim/cluster/plot.h"
#include "tests/sim/failure.h"

namespace {

using urxe::sim::Cluster;
using urxe::sim::ClusterFigures;
using urxe::sim::ClusterOptions;

bool write_file(const std::string& name, const std::string& contents) {
  if (name.empty()) return true;
  std::ofstream file(name);
  file << contents;
  file.close();
  if (!file) std::fprintf(stderr, "urxe_cluster: cannot write %s\n", name.c_str());
  return !file.fail();
}

void check_bounds(const ClusterOptions& options, const ClusterFigures& figures) {
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

int run(const ClusterOptions& options) {
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
  const ClusterOptions options = urxe::sim::parse_cluster_options(argc, argv);
  try {
    return run(options);
  } catch (const urxe::sim::Failure& failure) {
    std::printf("FAILED: %s\n", failure.what());
    return 1;
  }
}
