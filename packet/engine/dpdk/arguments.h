// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/ip/ip_network.h"

namespace urxe {

/// Of the largest Ethernet frames that DPDK knows.
inline constexpr uint32_t kMostMtu = 9600;

/// What the user says of a port of DPDK.
struct PortWords {
  std::string port;                  ///< its name; empty: the only one there is
  std::vector<IpNetwork> addresses;  ///< empty: those of the interface that the kernel keeps
  std::vector<Gid> gateways;         ///< one of each family at most
  uint32_t mtu = 0;                  ///< 0: the port's own
};

/// --dpdk-args: arguments of DPDK's environment (EAL), and behind "--" words about the ports.
struct DpdkArguments {
  std::vector<std::string> eal;
  std::vector<PortWords> ports;  ///< in the order given; none if there are no words

  /// The words about a port; `ports_found` is how many ports there are. Nullopt: there are words,
  /// but not for this port.
  [[nodiscard]] std::optional<PortWords> words_of(std::string_view port, size_t ports_found) const;
};

/// Splits the text at blanks, outside of quotation marks, and reads the words behind "--":
///   [port=NAME] [address=A/BITS[,A/BITS...]] [gateway=A[,A]] [mtu=N]
/// `port=` begins the words about another port. The error is a sentence for the user.
Expected<DpdkArguments, std::string> parse_dpdk_arguments(std::string_view text);

}  // namespace urxe
