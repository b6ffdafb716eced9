// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/descriptor_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "packet/host/user_directory.h"

namespace urxe {
namespace {

union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
};

/// `control` and `part` outlive the message.
msghdr make_message(ControlBuffer& control, iovec& part) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  return message;
}

/// All descriptors must be owned before anything is refused, or they would stay open.
std::array<FileDescriptor, kMaxDescriptors> take_descriptors(const msghdr& message) {
  std::array<FileDescriptor, kMaxDescriptors> taken;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
    return taken;
  }
  const size_t count = std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), kMaxDescriptors);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    taken[i] = FileDescriptor(fd);
  }
  return taken;
}

}  // namespace

Expected<void, Errno> send_message(int socket, std::span<const uint8_t> bytes,
                                   std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) return error(EINVAL);
  iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  ControlBuffer control{};
  msghdr message = make_message(control, part);
  if (descriptors.empty()) {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  } else {
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  }
  if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return error(errno);
  return {};
}

Expected<ReceivedMessage, Errno> receive_message(int socket, std::span<uint8_t> bytes) {
  iovec part{bytes.data(), bytes.size()};
  ControlBuffer control{};
  msghdr message = make_message(control, part);
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return error(errno);
  ReceivedMessage received;
  received.descriptors = take_descriptors(message);
  if (size == 0) return error(EPIPE);
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return error(EMSGSIZE);
  received.bytes = static_cast<size_t>(size);
  return received;
}

bool is_peer_of_user(int socket, uid_t user) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return user != kUnknownUser && getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == user;
}

}  // namespace urxe
