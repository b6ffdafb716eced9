// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/cluster.h"

#include <algorithm>
#include <numeric>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

/// No run of a plan that works takes as long.
constexpr Duration kLongest = seconds(600);

}  // namespace

Cluster::Cluster(const ClusterPlan& plan)
    : plan_(plan), fabric_(plan), memory_(plan.message_bytes), wakes_(plan.hosts) {
  for (uint32_t host = 0; host < plan.hosts; ++host) {
    nodes_.push_back(std::make_unique<Node>(
        plan, host, memory_,
        [this](uint32_t flow, bool bad, Instant now) { on_complete(flow, bad, now); }));
  }
  make_flows();
  connect_flows();
  unfinished_ = flows_.size();
}

void Cluster::make_flows() {
  const auto add = [this](uint32_t from, uint32_t to) {
    ClusterFlow flow;
    flow.from = from;
    flow.to = to;
    flows_.push_back(std::move(flow));
  };
  switch (plan_.pattern) {
    case Pattern::kIncast:
      for (uint32_t host = 1; host < plan_.hosts; ++host) add(host, 0);
      break;
    case Pattern::kPermutation: {
      // Each in a drawn circle sends to the next one.
      std::vector<uint32_t> circle(plan_.hosts);
      std::iota(circle.begin(), circle.end(), 0U);
      Random random(Random::mix(plan_.seed) + 5);
      for (uint32_t i = plan_.hosts - 1; i > 0; --i)
        std::swap(circle[i], circle[random.below(i + 1)]);
      for (uint32_t i = 0; i < plan_.hosts; ++i) add(circle[i], circle[(i + 1) % plan_.hosts]);
      break;
    }
    case Pattern::kAllToAll:
      for (uint32_t host = 0; host < plan_.hosts; ++host) {
        for (uint32_t i = 1; i <= plan_.peers_of_a_host(); ++i) add(host, (host + i) % plan_.hosts);
      }
      break;
  }
  // The payload goes the same way, whoever asks for it.
  if (plan_.reads) {
    for (ClusterFlow& flow : flows_) std::swap(flow.from, flow.to);
  }
}

void Cluster::connect_flows() {
  for (uint32_t number = 0; number < flows_.size(); ++number) {
    ClusterFlow& flow = flows_[number];
    flow.qpn = nodes_[flow.from]->add_queue_pair(number);
    const Qpn peer = nodes_[flow.to]->add_queue_pair(number);
    nodes_[flow.from]->connect(flow.qpn, flow.to, peer, now_);
    nodes_[flow.to]->connect(peer, flow.from, flow.qpn, now_);
  }
}

void Cluster::post(ClusterFlow& flow) {
  if (flow.posted == plan_.messages) return;
  ++flow.posted;
  flow.posted_at.push_back(now_);
  nodes_[flow.from]->post(flow.qpn, nodes_[flow.to]->rkey());
}

void Cluster::on_complete(uint32_t number, bool bad, Instant now) {
  ClusterFlow& flow = flows_[number];
  require(!bad,
          [&] { return text("the flow from host %u to host %u failed", flow.from, flow.to); });
  latencies_.push_back(now - flow.posted_at.front());
  flow.posted_at.erase(flow.posted_at.begin());
  ++flow.completed;
  goodput_.add(now, plan_.message_bytes);
  digest_ = Random::mix(digest_ + static_cast<uint64_t>(now.ns) + number);
  if (flow.completed < plan_.messages) return post(flow);
  flow.finished = now;
  --unfinished_;
  if (at_first_end_.empty()) {
    for (const ClusterFlow& each : flows_) at_first_end_.push_back(each.completed);
  }
}

void Cluster::drive(uint32_t host) {
  nodes_[host]->drive(fabric_, now_);
  const auto next = nodes_[host]->next();
  if (next == wakes_[host]) return;
  if (wakes_[host]) schedule_.erase({wakes_[host]->ns, host});
  wakes_[host] = next;
  if (next) schedule_.insert({next->ns, host});
}

/// Does the next thing that happens anywhere. Packets that arrive at one instant go before timers.
void Cluster::step() {
  const auto arrival = fabric_.next();
  require(arrival || !schedule_.empty(), [] { return std::string("nothing happens any more"); });
  if (arrival && (schedule_.empty() || arrival->ns <= schedule_.begin()->first)) {
    now_ = std::max(now_, *arrival);
    if (const auto number = fabric_.step()) {
      const uint32_t host = fabric_.packet(*number).to;
      nodes_[host]->receive(fabric_.packet(*number), now_);
      fabric_.done(*number);
      drive(host);
    }
    return;
  }
  now_ = std::max(now_, Instant{schedule_.begin()->first});
  drive(schedule_.begin()->second);
}

void Cluster::run() {
  for (ClusterFlow& flow : flows_) {
    for (uint32_t i = 0; i < plan_.depth; ++i) post(flow);
  }
  for (uint32_t host = 0; host < plan_.hosts; ++host) drive(host);
  while (unfinished_ > 0) {
    step();
    require(now_ - Instant{} < kLongest, [this] {
      return text("%zu flows are not done after %lld s", unfinished_,
                  static_cast<long long>(kLongest.ns / 1'000'000'000));
    });
  }
}

}  // namespace urxe::sim
