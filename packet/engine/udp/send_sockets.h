// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packet/engine/engine.h"
#include "packet/engine/udp/held_ports.h"
#include "packet/engine/udp/udp_socket.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The sockets that one local address sends from, one per UDP source port. Queue pairs share a
/// socket if they want the same port, or if the maximum number of sockets is reached.
class SendSockets {
 public:
  /// `receiver` is bound to port 4791 and sends the packets with that source port. `ports` stays.
  SendSockets(const Gid& local, int receiver, const UdpSocketOptions& options, size_t max_sockets,
              HeldPorts& ports)
      : local_(local),
        receiver_(receiver),
        options_(options),
        max_sockets_(max_sockets),
        ports_(&ports) {}

  [[nodiscard]] const Gid& local() const { return local_; }
  Expected<uint16_t, EngineError> claim(uint16_t wanted);
  void release(uint16_t port);
  /// Closes all of them, for good.
  void close();
  /// The socket that is bound to `port`; -1 if there is none.
  [[nodiscard]] int find(uint16_t port) const;
  [[nodiscard]] size_t size() const { return sockets_.size(); }

 private:
  struct Socket {
    uint16_t port;
    uint32_t users;
    FileDescriptor fd;
  };
  /// Counts one more user of the socket with this port. False: there is none.
  bool use_open(uint16_t port);
  Expected<uint16_t, EngineError> open_near(uint16_t wanted);
  Expected<void, Errno> open(uint16_t port);
  uint16_t share(uint16_t wanted);

  Gid local_;
  int receiver_;
  UdpSocketOptions options_;
  size_t max_sockets_;
  HeldPorts* ports_;
  std::vector<Socket> sockets_;
};

}  // namespace urxe
