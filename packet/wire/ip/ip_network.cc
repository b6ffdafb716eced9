// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ip/ip_network.h"

#include <arpa/inet.h>

#include <string>

namespace urxe {
namespace {

constexpr uint8_t kIpv4PrefixOfGid = 96;
constexpr unsigned kGidBits = 128;

std::optional<unsigned> parse_bits(std::string_view text) {
  if (text.empty() || text.size() > 3) return std::nullopt;
  unsigned bits = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    bits = bits * 10 + static_cast<unsigned>(c - '0');
  }
  return bits;
}

}  // namespace

bool IpNetwork::contains(const Gid& other) const {
  const size_t whole = prefix_bits / 8;
  for (size_t i = 0; i < whole; ++i) {
    if (address.bytes[i] != other.bytes[i]) return false;
  }
  const unsigned rest = prefix_bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff00U >> rest);
  return ((address.bytes[whole] ^ other.bytes[whole]) & mask) == 0;
}

std::optional<Gid> parse_ip_address(std::string_view text) {
  const std::string copy(text);  // inet_pton() wants the zero at the end
  uint8_t bytes[16];
  if (inet_pton(AF_INET, copy.c_str(), bytes) == 1) return Gid::from_ipv4(bytes);
  if (inet_pton(AF_INET6, copy.c_str(), bytes) == 1) return Gid::from_ipv6(bytes);
  return std::nullopt;
}

std::optional<IpNetwork> parse_ip_network(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_ip_address(text.substr(0, slash));
  const auto bits = parse_bits(text.substr(slash + 1));
  if (!address || !bits) return std::nullopt;
  const unsigned base = address->is_ipv4() ? kIpv4PrefixOfGid : 0;
  if (base + *bits > kGidBits) return std::nullopt;
  return IpNetwork{*address, static_cast<uint8_t>(base + *bits)};
}

}  // namespace urxe
