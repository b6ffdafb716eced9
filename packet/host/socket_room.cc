// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/socket_room.h"

#include <sys/socket.h>

namespace urxe {
namespace {

void ask(int fd, int beyond_limit, int within_limit, int bytes) {
  if (setsockopt(fd, SOL_SOCKET, beyond_limit, &bytes, sizeof bytes) == 0) return;
  setsockopt(fd, SOL_SOCKET, within_limit, &bytes, sizeof bytes);
}

}  // namespace

void ask_receive_room(int fd, int bytes) {
  ask(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

size_t granted_receive_room(int fd) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0) return 0;
  return static_cast<size_t>(bytes);
}

void ask_send_room(int fd, int bytes) {
  ask(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

}  // namespace urxe
