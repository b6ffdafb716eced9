// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/buffers.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "packet/host/file_descriptor.h"
#include "packet/host/socket_room.h"

namespace urxe::doctor {
namespace {

constexpr const char* kBuffersCheck = "buffers";
/// What the UDP engine asks for (UdpConfig::socket_buffer_bytes).
constexpr int kWanted = 4 << 20;
/// Less does not hold a batch of packets with what the kernel counts for each.
constexpr size_t kTooSmall = size_t{128} << 10;

/// The kernel doubles what it grants, for its own needs.
size_t granted(int fd, int option) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (getsockopt(fd, SOL_SOCKET, option, &bytes, &size) != 0) return 0;
  return static_cast<size_t>(bytes) / 2;
}

}  // namespace

BufferFacts read_buffers() {
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ask_receive_room(fd.get(), kWanted);
  ask_send_room(fd.get(), kWanted);
  return {kWanted, granted(fd.get(), SO_RCVBUF), granted(fd.get(), SO_SNDBUF)};
}

Finding judge_buffers(const BufferFacts& facts) {
  const std::string advice =
      fmt::format("sysctl -w net.core.rmem_max={0} net.core.wmem_max={0} (outside of containers)",
                  facts.wanted);
  const std::string what =
      fmt::format("sockets get {} KiB to receive and {} KiB to send, of {} KiB",
                  facts.receive >> 10, facts.send >> 10, facts.wanted >> 10);
  if (facts.receive < kTooSmall || facts.send < kTooSmall) {
    return problem(kBuffersCheck, what + ": bursts are lost", advice);
  }
  if (facts.receive < facts.wanted || facts.send < facts.wanted) {
    return note(kBuffersCheck, what + ": fewer packets can be under way", advice);
  }
  return ok(kBuffersCheck, what);
}

}  // namespace urxe::doctor
