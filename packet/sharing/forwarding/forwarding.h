// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "packet/host/unix_name.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

// The datagrams that the processes of a host send each other through unix sockets: packets that
// reached a process that does not own them, and answers to probes.

/// An answer to a probe; see port_calibration.h.
struct ProbeAnswer {
  uint64_t token = 0;
  uint32_t index = 0;
  uint32_t slot = 0;  ///< of the process that received the probe
};

/// Forwards packets to the process whose socket is bound to `to`. Never blocks. Returns 0 or the
/// errno: ENOENT or ECONNREFUSED if no socket is bound to the name, EAGAIN if that socket is full,
/// ENETUNREACH if this process has left the root directory that the name is for (chroot(2)).
int forward_packets(int from_fd, const UnixName& to, const PacketRun& packets);
/// Never blocks. An answer that cannot be sent is lost.
void send_answer(int from_fd, const UnixName& to, const ProbeAnswer& answer);

/// Reads the datagrams that other processes send to the unix sockets of this one. Only those that
/// can reach the SharingDirectory send any, so they are not asked who they are; what is no datagram
/// of ours is thrown away.
class ForwardReader {
 public:
  using Item = std::variant<std::monostate, PacketRun, ProbeAnswer>;
  static constexpr size_t kBurst = 4;

  ForwardReader();
  /// Frees all buffers: packets that earlier calls of read() returned are no longer valid.
  void rewind() { next_buffer_ = 0; }
  /// False: all buffers are in use, and more datagrams may be waiting.
  [[nodiscard]] bool has_room() const { return next_buffer_ < kBurst; }
  /// The next datagram; monostate if none is waiting or all kBurst buffers are in use.
  Item read(int fd);

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t next_buffer_ = 0;
};

}  // namespace urxe
