// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ports/port_use.h"

#include <cstring>

namespace urxe::cm {
namespace {

// Families that an address is of.
constexpr unsigned kIpv4 = 1;
constexpr unsigned kIpv6 = 2;

// Parts of the last word.
constexpr unsigned kWhichAt = 32;
constexpr unsigned kMayShareAt = 40;

unsigned families_of(const PortUse& use) {
  switch (use.which) {
    case PortUse::Which::kAllIpv4:
      return kIpv4;
    case PortUse::Which::kAllIpv6:
      return kIpv6;
    case PortUse::Which::kAll:
      return kIpv4 | kIpv6;
    default:
      return use.address.is_ipv4() ? kIpv4 : kIpv6;
  }
}

bool is_one(const PortUse& use) {
  return use.which == PortUse::Which::kOne;
}

}  // namespace

PortUse PortUse::of(const Address& address, bool may_share, bool af_only) {
  PortUse use;
  use.may_share = may_share;
  if (!address.is_any()) {
    use.address = address.gid();
    if (address.is_link_local()) use.scope_id = address.scope_id();
  } else if (address.family() == AF_INET) {
    use.which = Which::kAllIpv4;
  } else {
    use.which = af_only ? Which::kAllIpv6 : Which::kAll;
  }
  return use;
}

bool conflict(const PortUse& a, const PortUse& b) {
  if (a.may_share && b.may_share) return false;
  if ((families_of(a) & families_of(b)) == 0) return false;
  if (!is_one(a) || !is_one(b)) return true;
  return a.address == b.address && a.scope_id == b.scope_id;
}

HolderKey port_key(PortSpace space, uint16_t port) {
  return {HolderKey::Kind::kPort, static_cast<uint64_t>(space) << 16 | port};
}

HolderTable::Words to_words(const PortUse& use) {
  HolderTable::Words words{};
  static_assert(sizeof use.address == 2 * sizeof words[0]);
  std::memcpy(words.data(), use.address.bytes.data(), sizeof use.address);
  words[2] = static_cast<uint64_t>(use.may_share) << kMayShareAt |
             static_cast<uint64_t>(use.which) << kWhichAt | use.scope_id;
  return words;
}

PortUse from_words(const HolderTable::Words& words) {
  PortUse use;
  std::memcpy(use.address.bytes.data(), words.data(), sizeof use.address);
  use.may_share = (words[2] >> kMayShareAt & 1) != 0;
  use.which = static_cast<PortUse::Which>(words[2] >> kWhichAt & 3);
  use.scope_id = static_cast<uint32_t>(words[2]);
  return use;
}

}  // namespace urxe::cm
