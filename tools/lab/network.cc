// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/network.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "packet/host/file_descriptor.h"
#include "tools/lab/rtnetlink.h"

namespace urxe::lab {
namespace {

/// The largest MTU of a cable at the switch: a bridge carries what its largest port carries.
unsigned mtu_of(const Plan& plan, size_t network_switch) {
  unsigned mtu = kLeastMtu;
  for (const Node& node : plan.nodes) {
    for (const Port& port : node.ports) {
      if (port.network_switch == network_switch) mtu = std::max(mtu, port.mtu);
    }
  }
  for (const Trunk& trunk : plan.trunks) {
    if (trunk.from == network_switch || trunk.to == network_switch) mtu = std::max(mtu, trunk.mtu);
  }
  return mtu;
}

/// An interface name has at most 15 characters, and the names of users may be longer.
std::string bridge_name(size_t network_switch) {
  return fmt::format("switch{}", network_switch + 1);
}

std::string port_name(size_t node, size_t port) {
  return fmt::format("node{}p{}", node + 1, port);
}

/// In a network namespace whose interfaces do not exist yet: an IPv6 address, the link-local one,
/// too, can be used at once. False: the kernel has no IPv6.
bool skip_duplicate_detection() {
  std::ofstream setting("/proc/sys/net/ipv6/conf/default/accept_dad");
  setting << "0" << std::flush;
  return static_cast<bool>(setting);
}

/// A switch carries frames whatever is in them. With the module br_netfilter a bridge would look at
/// IP headers, and drop what has a wrong checksum.
void leave_packets_alone() {
  for (const char* const kind : {"iptables", "ip6tables", "arptables"}) {
    std::ofstream(fmt::format("/proc/sys/net/bridge/bridge-nf-call-{}", kind)) << "0";
  }
}

Done add_switch(Rtnetlink& links, const Plan& plan, size_t number) {
  const std::string bridge = bridge_name(number);
  if (auto done = links.add_bridge(bridge); !done) return done;
  return links.set_up(bridge, mtu_of(plan, number));
}

/// A bridge carries a batch of packets that the kernel segments later as one packet, whatever size
/// they will have. Where larger packets may come, batches are segmented on the link, so that each
/// of their packets is looked at.
Done add_port(Rtnetlink& links, const Plan& plan, size_t network_switch, const std::string& name,
              unsigned mtu) {
  if (auto done = links.put_into(bridge_name(network_switch), name); !done) return done;
  if (mtu < largest_mtu_around(plan, network_switch)) {
    if (auto done = links.limit_batches(name, mtu); !done) return done;
  }
  return links.set_up(name, mtu);
}

Done add_trunk(Rtnetlink& links, const Plan& plan, size_t number) {
  const Trunk& trunk = plan.trunks[number];
  const std::string from = fmt::format("trunk{}a", number);
  const std::string to = fmt::format("trunk{}b", number);
  if (auto done = links.add_pair(from, to, 0); !done) return done;
  if (auto done = add_port(links, plan, trunk.from, from, trunk.mtu); !done) return done;
  return add_port(links, plan, trunk.to, to, trunk.mtu);
}

Done set_up_port(Rtnetlink& links, const Port& port, bool has_ipv6) {
  if (auto done = links.add_address(port.interface, port.ipv4); !done) return done;
  if (has_ipv6) {
    if (auto done = links.add_address(port.interface, port.ipv6); !done) return done;
  }
  return links.set_up(port.interface, port.mtu);
}

/// In the node's network namespace, after its links have been made.
Done set_up_node(const Node& node, bool has_ipv6) {
  auto links = Rtnetlink::open();
  if (!links) return failure(links.error());
  if (auto done = links->set_up("lo", 0); !done) return done;
  for (const Port& port : node.ports) {
    if (auto done = set_up_port(*links, port, has_ipv6); !done) return done;
  }
  if (!node.ports.empty()) {
    auto done = links->add_multicast_route(node.ports.front().interface);
    if (!done) return done;
  }
  for (const Port& port : node.ports) {
    if (auto done = links->wait_until_up(port.interface); !done) return done;
  }
  return {};
}

/// Calls `act` in the network namespace of the process.
template <class Act>
Done in_network_of(pid_t pid, Act act) {
  const FileDescriptor here(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const FileDescriptor there(
      open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!here || !there || setns(there.get(), CLONE_NEWNET) != 0) {
    return system_failure("cannot enter a node's network");
  }
  Done done = act();
  if (setns(here.get(), CLONE_NEWNET) != 0) return system_failure("cannot leave a node's network");
  return done;
}

Done add_node(Rtnetlink& links, const Plan& plan, size_t number, pid_t pid) {
  const Node& node = plan.nodes[number];
  bool has_ipv6 = false;
  auto done = in_network_of(pid, [&]() -> Done {
    has_ipv6 = skip_duplicate_detection();
    return {};
  });
  for (size_t i = 0; done && i < node.ports.size(); ++i) {
    const Port& port = node.ports[i];
    const std::string name = port_name(number, i);
    done = links.add_pair(name, port.interface, pid);
    if (done) done = add_port(links, plan, port.network_switch, name, port.mtu);
  }
  if (!done) return done;
  return in_network_of(pid, [&] { return set_up_node(node, has_ipv6); });
}

Done wait_for_ports(Rtnetlink& links, const Plan& plan) {
  for (size_t node = 0; node < plan.nodes.size(); ++node) {
    for (size_t port = 0; port < plan.nodes[node].ports.size(); ++port) {
      if (auto done = links.wait_until_up(port_name(node, port)); !done) return done;
    }
  }
  for (size_t i = 0; i < plan.trunks.size(); ++i) {
    for (const char* const end : {"a", "b"}) {
      auto done = links.wait_until_up(fmt::format("trunk{}{}", i, end));
      if (!done) return done;
    }
  }
  return {};
}

}  // namespace

Done make_network(const Plan& plan, const std::vector<pid_t>& nodes) {
  (void)skip_duplicate_detection();
  leave_packets_alone();
  auto links = Rtnetlink::open();
  if (!links) return failure(links.error());
  for (size_t i = 0; i < plan.switches.size(); ++i) {
    if (auto done = add_switch(*links, plan, i); !done) return done;
  }
  for (size_t i = 0; i < plan.trunks.size(); ++i) {
    if (auto done = add_trunk(*links, plan, i); !done) return done;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (auto done = add_node(*links, plan, i, nodes[i]); !done) return done;
  }
  return wait_for_ports(*links, plan);
}

}  // namespace urxe::lab
