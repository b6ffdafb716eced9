// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/sharing/holders/holder_table.h"
#include "packet/wire/gid.h"
#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// The addresses for which a claim has a port: one, or all of a kind.
struct PortUse {
  enum class Which : uint8_t { kOne, kAllIpv4, kAllIpv6, kAll };
  Which which = Which::kOne;
  bool may_share = false;  ///< with other claims that may share
  uint32_t scope_id = 0;   ///< of a link-local address
  Gid address;             ///< of kOne

  /// `af_only` matters for all IPv6 addresses only.
  static PortUse of(const Address& address, bool may_share, bool af_only);
  friend bool operator==(const PortUse&, const PortUse&) = default;
};

/// Whether two claims of a port conflict: they have an address in common, and not both may share.
bool conflict(const PortUse& a, const PortUse& b);

// In a HolderTable:
HolderKey port_key(PortSpace space, uint16_t port);
HolderTable::Words to_words(const PortUse& use);
PortUse from_words(const HolderTable::Words& words);

}  // namespace urxe::cm
