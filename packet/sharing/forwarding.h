// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "packet/host/unix_name.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

// The datagrams that processes of one host send each other, from and to unix sockets: packets that
// reached the wrong process, and answers to probes.

/// An answer to a probe: see PortCalibration.
struct ProbeAnswer {
  uint64_t token = 0;
  uint32_t index = 0;
  uint32_t slot = 0;  ///< of the process that has got the probe
};

/// Passes packets on to the process that has the name. Never blocks. 0, or the errno: ECONNREFUSED
/// where nobody has it, EAGAIN where its queue is full.
int forward_packets(int from_fd, const UnixName& to, const PacketRun& packets);
/// Never blocks; an answer that cannot be sent is lost.
void send_answer(int from_fd, uint32_t to_slot, const ProbeAnswer& answer);

/// Reads what others have sent to a name of this process. Only their own user's processes are
/// heard.
class ForwardReader {
 public:
  using Item = std::variant<std::monostate, PacketRun, ProbeAnswer>;
  static constexpr size_t kBurst = 4;

  ForwardReader();
  /// Starts over with the buffers: what earlier read()s returned is no longer valid.
  void rewind() { next_buffer_ = 0; }
  /// The next datagram; monostate where none is waiting or all kBurst buffers are in use.
  Item read(int fd);

 private:
  std::unique_ptr<uint8_t[]> memory_;
  size_t next_buffer_ = 0;
  uint32_t real_user_;
  uint32_t effective_user_;
};

}  // namespace urxe
