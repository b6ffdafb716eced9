// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace urxe::lab {
namespace {

std::string without_prefix_length(const std::string& address) {
  return address.substr(0, address.find('/'));
}

}  // namespace

std::vector<size_t> networks_of(const Plan& plan) {
  std::vector<size_t> network(plan.switches.size());
  std::iota(network.begin(), network.end(), 0U);
  for (const Trunk& trunk : plan.trunks) {
    const size_t joined = std::min(network[trunk.from], network[trunk.to]);
    const size_t other = std::max(network[trunk.from], network[trunk.to]);
    for (size_t& number : network) {
      if (number == other) number = joined;
    }
  }
  return network;
}

unsigned largest_mtu_around(const Plan& plan, size_t network_switch) {
  const std::vector<size_t> networks = networks_of(plan);
  const size_t network = networks[network_switch];
  unsigned mtu = 0;
  for (const Node& node : plan.nodes) {
    for (const Port& port : node.ports) {
      if (networks[port.network_switch] == network) mtu = std::max(mtu, port.mtu);
    }
  }
  for (const Trunk& trunk : plan.trunks) {
    if (networks[trunk.from] == network) mtu = std::max(mtu, trunk.mtu);
  }
  return mtu;
}

std::string faults_of(const Node& node) {
  std::string words;
  for (const Port& port : node.ports) {
    if (port.faults.empty()) continue;
    words += fmt::format("{}{}:{}", words.empty() ? "" : ";", port.interface, port.faults);
  }
  return words;
}

Plan star(unsigned nodes, unsigned mtu) {
  Plan plan;
  plan.switches.emplace_back("switch1");
  for (unsigned i = 1; i <= nodes; ++i) {
    plan.nodes.push_back({fmt::format("node{}", i), {{"eth0", 0, mtu, {}, {}, {}}}});
  }
  assign_addresses(plan);
  return plan;
}

void assign_addresses(Plan& plan) {
  const std::vector<size_t> networks = networks_of(plan);
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    std::vector<size_t> ports_in(networks.size());
    for (Port& port : plan.nodes[i].ports) {
      const size_t network = networks[port.network_switch];
      // A second port in the same network: 64 nodes leave room for three more of each.
      const size_t host = i + 1 + kMostNodes * ports_in[network]++;
      port.ipv4 = fmt::format("10.0.{}.{}/24", network, host);
      port.ipv6 = fmt::format("fd00:0:0:{:x}::{:x}/64", network, host);
      if (network == 0) port.ipv6 = fmt::format("fd00::{:x}/64", host);
    }
  }
}

std::string hosts_of(const Plan& plan) {
  std::string hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n";
  for (const Node& node : plan.nodes) {
    for (size_t i = 0; i < node.ports.size(); ++i) {
      const Port& port = node.ports[i];
      const std::string long_name = node.name + "-" + port.interface;
      const std::string short_name = i == 0 ? node.name + " " : "";
      const std::string short_ip6 = i == 0 ? node.name + "-ip6 " : "";
      hosts += fmt::format("{} {}{}\n", without_prefix_length(port.ipv4), short_name, long_name);
      hosts += fmt::format("{} {}{}-ip6\n", without_prefix_length(port.ipv6), short_ip6, long_name);
    }
  }
  return hosts;
}

}  // namespace urxe::lab
