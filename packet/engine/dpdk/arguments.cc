// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/arguments.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace urxe {
namespace {

/// More is no argument list of a sane user.
constexpr size_t kMostCharacters = 16384;
/// As many GIDs as a device has.
constexpr size_t kMostAddresses = 64;
/// The least that IPv6 allows for.
constexpr uint32_t kLeastMtu = 576;

Unexpected<std::string> refuse(std::string why) {
  return Unexpected<std::string>(std::move(why));
}

Expected<std::vector<std::string>, std::string> split(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (open) words.push_back(std::exchange(word, {}));
      open = false;
    } else {
      word += c;
      open = true;
    }
  }
  if (quote != 0) return refuse("a quotation mark is not closed");
  if (open) words.push_back(word);
  return words;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> members;
  for (;;) {
    const size_t comma = text.find(',');
    members.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return members;
    text.remove_prefix(comma + 1);
  }
}

/// An address that a port can have, or send to.
bool is_of_a_host(const Gid& address) {
  const Gid unspecified_ipv4 = *parse_ip_address("0.0.0.0");
  return !address.is_zero() && !address.is_multicast() && address != unspecified_ipv4;
}

/// Each of these returns an empty text, or why the value is refused.
std::string add_addresses(PortWords& words, std::string_view value) {
  for (const std::string_view member : split_list(value)) {
    const auto network = parse_ip_network(member);
    if (!network || !is_of_a_host(network->address)) {
      return "address=" + std::string(member) +
             " is not an address with its prefix length, as in "
             "address=192.0.2.1/24,2001:db8::1/64";
    }
    if (words.addresses.size() == kMostAddresses) return "a port has 64 addresses at most";
    const bool repeated = std::ranges::any_of(
        words.addresses, [&](const IpNetwork& other) { return other.address == network->address; });
    if (repeated) return "the address " + network->address.to_string() + " is there twice";
    words.addresses.push_back(*network);
  }
  return "";
}

std::string add_gateways(PortWords& words, std::string_view value) {
  for (const std::string_view member : split_list(value)) {
    const auto address = parse_ip_address(member);
    if (!address || !is_of_a_host(*address)) {
      return "gateway=" + std::string(member) + " is not an address, as in gateway=192.0.2.254";
    }
    const bool repeated = std::ranges::any_of(
        words.gateways, [&](const Gid& other) { return other.is_ipv4() == address->is_ipv4(); });
    if (repeated) return "a port has one gateway for IPv4, and one for IPv6";
    words.gateways.push_back(*address);
  }
  return "";
}

std::string set_mtu(PortWords& words, std::string_view value) {
  const char* const end = value.data() + value.size();
  const auto [parsed_to, code] = std::from_chars(value.data(), end, words.mtu);
  if (code != std::errc() || parsed_to != end || words.mtu < kLeastMtu || words.mtu > kMostMtu) {
    return "mtu=" + std::string(value) + " is not a number from 576 to 9600";
  }
  return "";
}

std::string add_word(std::vector<PortWords>& ports, std::string_view word) {
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  if (key == "port" && !value.empty()) {
    if (!ports.empty() && ports.front().port.empty()) {
      return "words before the first port= belong to no port";
    }
    const bool repeated =
        std::ranges::any_of(ports, [&](const PortWords& other) { return other.port == value; });
    if (repeated) return "port=" + std::string(value) + " is there twice";
    ports.push_back({});
    ports.back().port = value;
    return "";
  }
  if (ports.empty()) ports.push_back({});
  if (key == "address") return add_addresses(ports.back(), value);
  if (key == "gateway") return add_gateways(ports.back(), value);
  if (key == "mtu") return set_mtu(ports.back(), value);
  return "'" + std::string(word) + "' behind -- is not port=, address=, gateway= or mtu=";
}

/// A gateway is a neighbour.
std::string check_gateways(const PortWords& words) {
  for (const Gid& gateway : words.gateways) {
    const bool near = gateway.is_ipv6_link_local() ||
                      std::ranges::any_of(words.addresses, [&](const IpNetwork& network) {
                        return network.contains(gateway);
                      });
    if (!near) return "the gateway " + gateway.to_string() + " is in no network of an address=";
  }
  return "";
}

}  // namespace

std::optional<PortWords> DpdkArguments::words_of(std::string_view port, size_t ports_found) const {
  if (ports.empty()) return PortWords{};
  if (ports.front().port.empty()) {
    return ports_found == 1 ? std::optional(ports.front()) : std::nullopt;
  }
  const auto found = std::ranges::find(ports, port, &PortWords::port);
  return found != ports.end() ? std::optional(*found) : std::nullopt;
}

Expected<DpdkArguments, std::string> parse_dpdk_arguments(std::string_view text) {
  if (text.size() > kMostCharacters) return refuse("they are longer than 16384 characters");
  auto words = split(text);
  if (!words) return refuse(words.error());
  const auto dashes = std::ranges::find(*words, "--");
  DpdkArguments arguments;
  arguments.eal.assign(words->begin(), dashes);
  for (auto word = dashes; word != words->end(); ++word) {
    if (word == dashes) continue;
    if (std::string error = add_word(arguments.ports, *word); !error.empty()) return refuse(error);
  }
  for (const PortWords& port : arguments.ports) {
    if (std::string error = check_gateways(port); !error.empty()) return refuse(error);
  }
  return arguments;
}

}  // namespace urxe
