// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace urxe::lab {

constexpr unsigned kMostNodes = 64;
constexpr unsigned kLeastMtu = 1280;  ///< IPv6 needs it
constexpr unsigned kMostMtu = 65535;
constexpr unsigned kDefaultMtu = 1500;

/// A node's interface: its cable leads to a switch.
struct Port {
  std::string interface;      ///< eth0, eth1, ...
  size_t network_switch = 0;  ///< an index of Plan::switches
  unsigned mtu = kDefaultMtu;
  std::string faults;  ///< words of --fault for the port's packets; empty: none
  std::string ipv4;    ///< with the length of the prefix, as are the IPv6 addresses
  std::string ipv6;
};

struct Node {
  std::string name;  ///< its host name, too
  std::vector<Port> ports;
};

/// A cable between two switches.
struct Trunk {
  size_t from = 0;
  size_t to = 0;
  unsigned mtu = kDefaultMtu;
};

/// What a lab consists of.
struct Plan {
  std::vector<Node> nodes;            ///< COMMAND runs in the first one
  std::vector<std::string> switches;  ///< their names; empty: one that two nodes are joined by
  std::vector<Trunk> trunks;
};

/// `nodes` nodes, node1, node2, ..., at one switch.
Plan star(unsigned nodes, unsigned mtu);

/// For each switch, the number of the network that it belongs to: switches that trunks join belong
/// to the same one.
std::vector<size_t> networks_of(const Plan& plan);

/// The largest MTU of the links in the switch's network, whose packets may come to any of them.
unsigned largest_mtu_around(const Plan& plan, size_t network_switch);

/// What URXE_FAULTS is for programs in the node; empty: no port has faults.
std::string faults_of(const Node& node);

/// Gives each port its addresses: the ports that reach each other without a router share the
/// networks 10.0.N.0/24 and fd00:0:0:N::/64, in which a node has its own number.
void assign_addresses(Plan& plan);

/// The contents of /etc/hosts. A node's name is its first IPv4 address's, because many programs
/// take the first address of a name and listen on IPv4; NAME-eth1 is another interface's, and
/// NAME-ip6, NAME-eth1-ip6 are the IPv6 addresses'.
std::string hosts_of(const Plan& plan);

}  // namespace urxe::lab
