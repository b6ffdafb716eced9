// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/kernel.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "packet/host/file_descriptor.h"
#include "provider/netlink/program_socket.h"

namespace urxe::netlink {
namespace {

constexpr size_t kRoom = 65536;
/// More messages than all devices and resources of a machine take.
constexpr size_t kMostMessages = 1 << 20;

Bytes whole_message(const Request& request, uint32_t port) {
  Bytes bytes(sizeof request.header + request.payload.size());
  nlmsghdr header = request.header;
  header.nlmsg_pid = port;
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!request.payload.empty()) {
    std::memcpy(bytes.data() + sizeof header, request.payload.data(), request.payload.size());
  }
  return bytes;
}

int error_in(const Request& message) {
  int code = 0;
  if (message.payload.size() >= sizeof code) {
    std::memcpy(&code, message.payload.data(), sizeof code);
  }
  return code;
}

/// Adds what was received at once. False: that was the end.
bool take(std::span<const uint8_t> received, uint32_t port, KernelAnswer& answer) {
  while (const auto message = take_request(received)) {
    const bool is_error = message->header.nlmsg_type == NLMSG_ERROR;
    if (!is_error && message->header.nlmsg_type != NLMSG_DONE) {
      answer.messages.push_back(whole_message(*message, port));
      continue;
    }
    answer.end = whole_message(*message, port);
    answer.is_error = error_in(*message) != 0;
    return false;
  }
  return answer.messages.size() < kMostMessages;
}

}  // namespace

Expected<KernelAnswer, Errno> ask_by(int fd, uint32_t port, const Request& request) {
  const Bytes question = whole_message(request, 0);
  if (send(fd, question.data(), question.size(), 0) < 0) return error(errno);
  KernelAnswer answer;
  Bytes room(kRoom);
  for (;;) {
    // The kernel answers before send() returns, and goes on with a dump in recv().
    const ssize_t size = recv(fd, room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return answer;
    if (size < 0) return error(errno);
    if (!take({room.data(), static_cast<size_t>(size)}, port, answer)) return answer;
  }
}

Expected<KernelAnswer, Errno> ask_kernel(int program, uint32_t port, const Request& request) {
  const FileDescriptor fd(open_socket(NETLINK_RDMA));
  if (!fd) return error(errno);
  for (const int option : {NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK}) {
    const int value = has_option(program, option) ? 1 : 0;
    setsockopt(fd.get(), SOL_NETLINK, option, &value, sizeof value);
  }
  return ask_by(fd.get(), port, request);
}

}  // namespace urxe::netlink
