// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "packet/wire/qpn_layout.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

// Processes of one user share UDP port 4791 of an address. Each has a slot, the upper bits of its
// queue pair numbers, and a unix datagram socket that bears the slot's name. A packet that reaches
// the wrong process is passed on through that socket.

inline constexpr size_t kMaxDatagramBytes = 65536;

/// An abstract unix address of the effective user's: free as soon as its holder has ended.
struct UnixName {
  sockaddr_un address{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};
UnixName slot_name(uint32_t slot);

/// Stands for the owner of packets to QP1, which is everybody's: see GsiSharing.
inline constexpr uint32_t kGsiOwner = kSlots;

/// The slot of the process that `packet` is for; `own` where it is everybody's (multicast) or too
/// short to say.
uint32_t owner_slot(std::span<const uint8_t> packet, uint32_t own);

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
