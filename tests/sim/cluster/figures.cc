// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/figures.h"

#include <algorithm>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

double microseconds_of(Duration duration) {
  return static_cast<double>(duration.ns) / 1000;
}

/// Links that the payload has at once: one at the receiver of an incast, else one a host.
uint32_t busy_links(const ClusterPlan& plan) {
  return plan.pattern == Pattern::kIncast ? 1 : plan.hosts;
}

void measure_latencies(const Cluster& cluster, ClusterFigures& figures) {
  std::vector<Duration> sorted = cluster.latencies();
  std::ranges::sort(sorted);
  const auto at = [&](size_t percent) {
    return microseconds_of(sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)]);
  };
  figures.latency_50_us = at(50);
  figures.latency_99_us = at(99);
  figures.latency_most_us = microseconds_of(sorted.back());
}

void measure_shares(const Cluster& cluster, ClusterFigures& figures) {
  double sum = 0;
  double squares = 0;
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
  for (const uint32_t messages : cluster.at_first_end()) {
    sum += messages;
    squares += static_cast<double>(messages) * messages;
    least = std::min(least, messages);
    most = std::max(most, messages);
  }
  const auto count = static_cast<double>(cluster.at_first_end().size());
  figures.least_share = least * count / sum;
  figures.most_share = most * count / sum;
  figures.jain = sum * sum / (count * squares);
}

}  // namespace

ClusterFigures figures_of(const Cluster& cluster) {
  const ClusterPlan& plan = cluster.plan();
  ClusterFigures figures;
  figures.seconds = static_cast<double>((cluster.end() - Instant{}).ns) / 1e9;
  const double bits = static_cast<double>(cluster.flows().size()) * plan.messages *
                      static_cast<double>(plan.message_bytes) * 8;
  figures.goodput =
      bits / figures.seconds / (static_cast<double>(plan.bits_per_second) * busy_links(plan));
  measure_latencies(cluster, figures);
  measure_shares(cluster, figures);
  figures.fabric = cluster.fabric().totals();
  for (const auto& node : cluster.nodes()) {
    const Counters& counters = node->device().counters();
    figures.retransmitted += counters.retransmitted_packets;
    figures.timeouts += counters.ack_timeouts;
    figures.probes += counters.loss_probes;
    figures.notifications += counters.cnps_sent;
  }
  figures.digest = cluster.digest();
  return figures;
}

std::string describe(const ClusterPlan& plan, const ClusterFigures& f) {
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  return text("%s, %u hosts, %u x %u B by %s, loss %u per million, seed %llu: %.6f s\n",
              pattern_name(plan.pattern), plan.hosts, plan.messages, plan.message_bytes,
              plan.reads ? "READ" : "WRITE", plan.loss_per_million, number(plan.seed), f.seconds) +
         text("  goodput %.3f of the links, shares %.2f .. %.2f of the mean, Jain %.3f\n",
              f.goodput, f.least_share, f.most_share, f.jain) +
         text("  message: median %.1f us, 99 %% %.1f us, longest %.1f us\n", f.latency_50_us,
              f.latency_99_us, f.latency_most_us) +
         text(
             "  switch: %llu packets, deepest queue %llu B, %llu dropped, %llu lost, %llu marked\n",
             number(f.fabric.packets), number(f.fabric.deepest), number(f.fabric.dropped),
             number(f.fabric.lost), number(f.fabric.marked)) +
         text("  sent again %llu packets, %llu ACK timeouts, %llu probes, %llu CNPs\n",
              number(f.retransmitted), number(f.timeouts), number(f.probes),
              number(f.notifications)) +
         text("  digest %016llx\n", number(f.digest));
}

std::string to_json(const ClusterPlan& plan, const ClusterFigures& f) {
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  return text(R"({"pattern": "%s", "hosts": %u, "messages": %u, "message_bytes": %u, "read": %s, )",
              pattern_name(plan.pattern), plan.hosts, plan.messages, plan.message_bytes,
              plan.reads ? "true" : "false") +
         text(R"("bits_per_second": %llu, "loss_per_million": %u, "seed": %llu, "seconds": %.9f, )",
              number(plan.bits_per_second), plan.loss_per_million, number(plan.seed), f.seconds) +
         text(R"("goodput": %.6f, "least_share": %.6f, "most_share": %.6f, "jain": %.6f, )",
              f.goodput, f.least_share, f.most_share, f.jain) +
         text(R"("latency_50_us": %.3f, "latency_99_us": %.3f, "latency_most_us": %.3f, )",
              f.latency_50_us, f.latency_99_us, f.latency_most_us) +
         text(R"("packets": %llu, "deepest_queue_bytes": %llu, "dropped": %llu, "lost": %llu, )",
              number(f.fabric.packets), number(f.fabric.deepest), number(f.fabric.dropped),
              number(f.fabric.lost)) +
         text(R"("marked": %llu, "retransmitted": %llu, "ack_timeouts": %llu, "probes": %llu, )",
              number(f.fabric.marked), number(f.retransmitted), number(f.timeouts),
              number(f.probes)) +
         text("\"cnps\": %llu, \"digest\": \"%016llx\"}\n", number(f.notifications),
              number(f.digest));
}

}  // namespace urxe::sim
