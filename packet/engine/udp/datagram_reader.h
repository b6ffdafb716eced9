// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/host/socket_address.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// Reads UDP sockets in bursts into buffers of its own. Allocates only when made.
class DatagramReader {
 public:
  static constexpr size_t kBurst = 8;

  DatagramReader();
  /// Takes up to kBurst datagrams from the socket, fewer if the last ones were long; one if
  /// `single`. Never blocks. They are valid until the next call. `local` is the address that the
  /// socket is bound to.
  std::span<const PacketRun> read(int fd, const Gid& local, bool single);
  /// The sockets have room for so many bytes; 0: unknown. A burst of long datagrams is at most
  /// about a quarter of it: answers are sent after a burst, and if that were all that a peer may
  /// have in flight, the peer and this process would wait for each other in turn.
  void set_receive_room(size_t bytes) { burst_bytes_ = bytes != 0 ? bytes / 4 : SIZE_MAX; }
  [[nodiscard]] uint64_t syscalls() const { return syscalls_; }

 private:
  static constexpr size_t kControlBytes = 128;
  struct Control {
    alignas(cmsghdr) uint8_t bytes[kControlBytes];
  };
  void rearm(msghdr& message, size_t i);
  void add(msghdr& message, size_t size, const Gid& local);
  void adapt_burst();

  std::unique_ptr<uint8_t[]> memory_;
  std::array<mmsghdr, kBurst> messages_{};
  std::array<iovec, kBurst> parts_{};
  std::array<SocketAddress, kBurst> senders_{};
  std::array<Control, kBurst> controls_{};
  std::array<PacketRun, kBurst> datagrams_{};
  size_t count_ = 0;
  size_t used_ = 0;  ///< messages_ that the last read wrote to
  size_t burst_bytes_ = SIZE_MAX;
  unsigned burst_ = kBurst;  ///< datagrams that the next read takes at most
  uint64_t syscalls_ = 0;
};

}  // namespace urxe
