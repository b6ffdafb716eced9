// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/addresses.h"

#include <algorithm>
#include <cstring>

namespace urxe::umad {
namespace {

bool is_of_one_kind(const Gid& a, const Gid& b) {
  return a.is_ipv4() == b.is_ipv4() && a.is_ipv6_link_local() == b.is_ipv6_link_local();
}

}  // namespace

bool is_destination(const Gid& gid) {
  return !gid.is_zero() && !gid.is_multicast();
}

Gid gid_of_port(const Gid& gid) {
  constexpr uint8_t kDefaultPrefix[8] = {0xfe, 0x80};
  constexpr size_t kHalf = sizeof kDefaultPrefix;
  Gid other = gid;
  std::fill_n(other.bytes.begin(), kHalf, uint8_t{0});
  const bool has_default_prefix = std::memcmp(gid.bytes.data(), kDefaultPrefix, kHalf) == 0;
  return has_default_prefix && other.is_ipv4() ? other : gid;
}

std::optional<Gid> source_for(const Gid& destination, std::span<const Gid> own, size_t wanted) {
  const auto fits = [&](const Gid& gid) {
    return !gid.is_zero() && is_of_one_kind(gid, destination);
  };
  if (wanted < own.size() && fits(own[wanted])) return own[wanted];
  const auto found = std::ranges::find_if(own, fits);
  if (found == own.end()) return std::nullopt;
  return *found;
}

}  // namespace urxe::umad
