// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "packet/wire/gid.h"

namespace urxe::umad {

/// Whether a datagram can go there: one host's address.
bool is_destination(const Gid& gid);

/// The GID that is meant by one that was put together of a subnet prefix and a port GUID, as
/// libibmad does it: fe80::ffff:a.b.c.d means ::ffff:a.b.c.d, whose lower half is the port GUID of
/// a port with that first address.
Gid gid_of_port(const Gid& gid);

/// The device's own GID from which a datagram can go there: the one with the index `wanted`, or the
/// first of the same kind. nullopt: there is none.
std::optional<Gid> source_for(const Gid& destination, std::span<const Gid> own, size_t wanted);

}  // namespace urxe::umad
