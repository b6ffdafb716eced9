// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <arpa/inet.h>
#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "packet/engine/engine.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe::test {

inline Gid ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const uint8_t address[4] = {a, b, c, d};
  return Gid::from_ipv4(address);
}

inline Gid loopback_v6() {
  uint8_t address[16] = {};
  address[15] = 1;
  return Gid::from_ipv6(address);
}

/// A loopback address that no other running test uses.
inline Gid own_loopback(uint8_t last) {
  const auto pid = static_cast<uint32_t>(getpid());
  return ipv4(127, static_cast<uint8_t>(1 + pid % 250), static_cast<uint8_t>(pid / 250 % 250),
              last);
}

/// A copy of a received packet, which outlives the buffers of receive().
struct Received {
  std::vector<uint8_t> bytes;
  Flow flow;
  Expected<Headers, DropReason> headers;
  std::vector<uint8_t> payload;
};

inline Received keep(const RxPacket& packet) {
  Received kept{{packet.bytes.begin(), packet.bytes.end()}, packet.flow, {}, {}};
  const auto view = parse(packet);
  if (!view) {
    kept.headers = Unexpected<DropReason>(view.error());
    return kept;
  }
  kept.headers = view->headers;
  kept.payload.assign(view->payload.begin(), view->payload.end());
  return kept;
}

/// This process's socket that is bound to an IPv4 address and port; -1: none.
inline int find_socket(const Gid& local, uint16_t port) {
  DIR* const directory = opendir("/proc/self/fd");
  int found = -1;
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_in name{};
    socklen_t size = sizeof name;
    if (fd <= 2 || getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) continue;
    if (name.sin_family != AF_INET || ntohs(name.sin_port) != port) continue;
    if (memcmp(&name.sin_addr, local.ipv4(), 4) == 0) found = fd;
  }
  closedir(directory);
  return found;
}

inline constexpr auto kPatience = std::chrono::seconds(20);

/// Calls `step` until it returns true or patience is over.
inline bool eventually(const std::function<bool()>& step) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (step()) return true;
  }
  return false;
}

/// Receives until `count` packets have come. Waits on the engine's descriptor, as an idle device
/// does, so a descriptor that does not wake shows as a failure.
inline std::vector<Received> receive_packets(EngineLane& lane, size_t count) {
  std::vector<Received> all;
  EXPECT_TRUE(eventually([&] {
    for (const RxPacket& packet : lane.receive()) all.push_back(keep(packet));
    if (all.size() >= count) return true;
    pollfd wait{lane.wait_fd(), POLLIN, 0};
    poll(&wait, 1, 1000);
    return false;
  })) << "only "
      << all.size() << " of " << count << " packets came";
  return all;
}

inline Headers send_only(uint32_t qpn, uint32_t psn) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn(qpn);
  headers.bth.psn = Psn(psn);
  return headers;
}

/// The payload is pattern()'s, and long ones lie elsewhere if the batch allows that.
inline void append(TxBatch& batch, const Flow& flow, const Headers& headers, size_t payload_bytes) {
  static const auto all = [] {
    std::array<uint8_t, 256 + 65536> bytes{};
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    return bytes;
  }();
  const size_t first = headers.bth.psn.value() % 256;
  ASSERT_TRUE(batch.append_whole(flow, headers, std::span(all).subspan(first, payload_bytes)));
}

inline std::vector<uint8_t> pattern(uint32_t psn, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i + psn);
  return bytes;
}

}  // namespace urxe::test
