// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ports/ephemeral_ports.h"

#include <fstream>

#include "packet/host/random.h"

namespace urxe::cm {
namespace {

PortRange read_range() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  PortRange range;
  uint16_t first = 0;
  uint16_t last = 0;
  if (file >> first >> last && first != 0 && first <= last) range = {first, last};
  return range;
}

}  // namespace

PortRange ephemeral_range() {
  static const PortRange range = read_range();
  return range;
}

PortSearch::PortSearch(PortRange range)
    : range_(range), start_(static_cast<uint32_t>(random_number() % range.size())) {}

std::optional<uint16_t> PortSearch::next() {
  if (told_ == range_.size()) return std::nullopt;
  const uint32_t offset = (start_ + told_++) % range_.size();
  return static_cast<uint16_t>(range_.first + offset);
}

size_t UsedPorts::index_of(PortSpace space) {
  switch (space) {
    case PortSpace::kIpoib:
      return 0;
    case PortSpace::kTcp:
      return 1;
    case PortSpace::kUdp:
      return 2;
    default:
      return 3;
  }
}

}  // namespace urxe::cm
