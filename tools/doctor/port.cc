// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/port.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "packet/wire/types.h"

namespace urxe::doctor {
namespace {

constexpr const char* kPortCheck = "port";
constexpr size_t kDigitsOfWord = 8;

/// The table has addresses as numbers of 32 bits in the machine's byte order.
std::optional<Gid> parse_address(const std::string& digits) {
  uint8_t bytes[16] = {};
  if (digits.size() != kDigitsOfWord && digits.size() != 4 * kDigitsOfWord) return std::nullopt;
  for (size_t at = 0; at < digits.size(); at += kDigitsOfWord) {
    const auto word =
        static_cast<uint32_t>(std::strtoul(digits.substr(at, kDigitsOfWord).c_str(), nullptr, 16));
    std::memcpy(bytes + at / 2, &word, sizeof word);
  }
  return digits.size() == kDigitsOfWord ? Gid::from_ipv4(bytes) : Gid::from_ipv6(bytes);
}

bool is_all_zero(const std::string& digits) {
  return digits.find_first_not_of('0') == std::string::npos;
}

/// A line of the table: "N: ADDRESS:PORT REMOTE:PORT STATE QUEUES TIMER RETRANSMITS USER TIMEOUT
/// INODE ...".
std::optional<PortSocket> parse_line(const std::string& line) {
  std::istringstream words(line);
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr size_t kLocal = 1;
  constexpr size_t kUser = 7;
  constexpr size_t kInode = 9;
  if (fields.size() <= kInode) return std::nullopt;
  const size_t colon = fields[kLocal].find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string digits = fields[kLocal].substr(0, colon);
  const auto address = parse_address(digits);
  if (!address ||
      std::strtoul(fields[kLocal].substr(colon + 1).c_str(), nullptr, 16) != kRoceUdpPort) {
    return std::nullopt;
  }
  return PortSocket{*address, is_all_zero(digits),
                    static_cast<uid_t>(std::strtoul(fields[kUser].c_str(), nullptr, 10)),
                    std::strtoull(fields[kInode].c_str(), nullptr, 10)};
}

/// False with errno.
bool read_table(const char* path, std::vector<PortSocket>& sockets) {
  std::ifstream file(path);
  if (!file) return false;
  std::ostringstream text;
  text << file.rdbuf();
  std::ranges::copy(parse_udp_table(text.str()), std::back_inserter(sockets));
  return true;
}

std::string describe(const PortFacts& facts, const PortSocket& socket) {
  std::string text = socket.is_wildcard ? "all addresses" : socket.address.to_string();
  const auto owner = facts.owners.find(socket.inode);
  if (owner != facts.owners.end()) {
    return fmt::format("{} by {} (process {}, user {})", text, owner->second.name,
                       owner->second.pid, socket.user);
  }
  if (facts.is_kernels(socket)) {
    return text + " by the kernel (soft-RoCE)";
  }
  return fmt::format("{} by a program of user {} that cannot be seen", text, socket.user);
}

/// Whether urxe's programs of this user can share the port with the socket.
bool is_ours(const PortFacts& facts, const PortSocket& socket) {
  const auto owner = facts.owners.find(socket.inode);
  return socket.user == facts.user && owner != facts.owners.end() && owner->second.has_urxe;
}

/// A socket that is not known to be ours.
Finding judge_other(const PortFacts& facts, const PortSocket& socket) {
  const std::string what = "UDP port 4791 is taken on " + describe(facts, socket);
  const bool is_seen = facts.owners.contains(socket.inode);
  if (!is_seen && socket.user == facts.user && !socket.is_wildcard) {
    return note(kPortCheck, what, "if that is no urxe program, end it");
  }
  if (facts.is_kernels(socket)) {
    return problem(kPortCheck, what,
                   "`rdma link` shows soft-RoCE, `rdma link delete NAME` removes it");
  }
  return problem(kPortCheck, what,
                 "end that program, or run urxe in a network namespace of its own; programs share "
                 "the port only if they run under urxe and as one user");
}

Finding judge_own(const PortFacts& facts) {
  std::set<pid_t> processes;
  for (const auto& [inode, owner] : facts.owners) {
    if (owner.has_urxe) processes.insert(owner.pid);
  }
  if (facts.sockets.empty()) return ok(kPortCheck, "UDP port 4791 is free");
  return ok(kPortCheck, fmt::format("UDP port 4791 is shared with {} urxe process{} of this user",
                                    processes.size(), processes.size() == 1 ? "" : "es"));
}

}  // namespace

bool PortFacts::is_kernels(const PortSocket& socket) const {
  return user == 0 && socket.user == 0 && socket.is_wildcard && !owners.contains(socket.inode);
}

std::vector<PortSocket> parse_udp_table(const std::string& text) {
  std::vector<PortSocket> sockets;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (const auto socket = parse_line(line)) sockets.push_back(*socket);
  }
  return sockets;
}

PortFacts read_port() {
  PortFacts facts;
  facts.user = geteuid();
  if (!read_table("/proc/net/udp", facts.sockets)) {
    facts.lack = std::string("/proc/net/udp: ") + std::strerror(errno);
    return facts;
  }
  read_table("/proc/net/udp6", facts.sockets);  // a kernel without IPv6 has none
  std::set<uint64_t> inodes;
  for (const PortSocket& socket : facts.sockets) inodes.insert(socket.inode);
  facts.owners = find_socket_owners(inodes);
  return facts;
}

Findings judge_port(const PortFacts& facts, const std::vector<Gid>& addresses) {
  if (!facts.lack.empty()) {
    return {note(kPortCheck, "who has UDP port 4791 cannot be read: " + facts.lack)};
  }
  Findings findings;
  for (const PortSocket& socket : facts.sockets) {
    const bool concerns_us =
        socket.is_wildcard || std::ranges::find(addresses, socket.address) != addresses.end();
    if (!concerns_us || is_ours(facts, socket)) continue;
    findings.push_back(judge_other(facts, socket));
  }
  if (findings.empty()) findings.push_back(judge_own(facts));
  return findings;
}

}  // namespace urxe::doctor
