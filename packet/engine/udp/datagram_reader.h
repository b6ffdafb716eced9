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
  /// Takes up to kBurst datagrams from the socket, or one if `single`. Never blocks. They are valid
  /// until the next call. `local` is the address that the socket is bound to.
  std::span<const PacketRun> read(int fd, const Gid& local, bool single);
  [[nodiscard]] uint64_t syscalls() const { return syscalls_; }

 private:
  static constexpr size_t kControlBytes = 128;
  struct Control {
    alignas(cmsghdr) uint8_t bytes[kControlBytes];
  };
  void rearm(msghdr& message, size_t i);
  void add(msghdr& message, size_t size, const Gid& local);

  std::unique_ptr<uint8_t[]> memory_;
  std::array<mmsghdr, kBurst> messages_{};
  std::array<iovec, kBurst> parts_{};
  std::array<SocketAddress, kBurst> senders_{};
  std::array<Control, kBurst> controls_{};
  std::array<PacketRun, kBurst> datagrams_{};
  size_t count_ = 0;
  size_t used_ = 0;  ///< messages_ that the last read wrote to
  uint64_t syscalls_ = 0;
};

}  // namespace urxe
