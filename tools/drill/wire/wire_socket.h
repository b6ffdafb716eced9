// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/roce_packet.h"
#include "tools/drill/stage.h"

namespace urxe::drill {

/// The address of this host that `text` names, from which packets can go to `peer`. The error says
/// what is wrong with it.
Expected<Gid, std::string> parse_local_address(const std::string& text, const Gid& peer);

/// The UDP sockets of a script: port 4791 of an address here, and the packets of one peer.
class WireSocket {
 public:
  /// `local`: an address of the peer's family; nullopt: the one that leads to the peer. The error
  /// is a line for the user.
  static Expected<WireSocket, std::string> open(std::optional<Gid> local, const Gid& peer);

  /// The flow of packets to the peer, for their ICRC.
  [[nodiscard]] const Flow& flow() const { return flow_; }
  /// Readable: receive() has a packet.
  [[nodiscard]] int fd() const { return receiver_.get(); }
  /// Returns 0 or an errno value: EMSGSIZE if the packet is larger than the path takes.
  int send(std::span<const uint8_t> packet);
  /// The next packet from the peer, with the kernel's time of its arrival; never waits.
  std::optional<SentPacket> receive();

 private:
  FileDescriptor receiver_;
  FileDescriptor port_;  ///< what holds the source port
  FileDescriptor sender_;
  Flow flow_;
};

}  // namespace urxe::drill
