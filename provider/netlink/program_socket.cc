// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/program_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "packet/host/file_descriptor.h"
#include "packet/host/start_thread.h"

namespace urxe::netlink {
namespace {

sockaddr_nl address_of(uint32_t port) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_pid = port;
  return address;
}

Expected<uint32_t, Errno> own_port(int fd) {
  sockaddr_nl address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return error(errno);
  return address.nl_pid;
}

/// From now on the socket takes messages from this port only. It gets a port if it has none.
Expected<void, Errno> listen_to(int fd, uint32_t port) {
  const sockaddr_nl address = address_of(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return error(errno);
  }
  return {};
}

bool listens_to_anybody(int fd) {
  sockaddr_nl peer{};
  socklen_t size = sizeof peer;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.nl_pid == 0;
}

/// What others have sent there before it listened to one port.
void drop_received(int fd) {
  uint8_t ignored[1];
  while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
  }
}

/// False and errno.
bool send_to(int fd, uint32_t port, const Bytes& message, int flags) {
  const sockaddr_nl address = address_of(port);
  return sendto(fd, message.data(), message.size(), flags,
                reinterpret_cast<const sockaddr*>(&address), sizeof address) >= 0;
}

ino_t inode_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/// What is still to be sent to a program's socket.
struct Rest {
  FileDescriptor from;
  int to = -1;  ///< the program's: it may close it
  ino_t to_inode = 0;
  uint32_t port = 0;
  std::vector<Bytes> messages;
  size_t next = 0;
};

/// Ends when the program has closed its socket, at the latest.
void* send_rest(void* argument) {
  const std::unique_ptr<Rest> rest(static_cast<Rest*>(argument));
  while (rest->next < rest->messages.size()) {
    if (send_to(rest->from.get(), rest->port, rest->messages[rest->next], 0)) {
      ++rest->next;
    } else if (errno != EINTR) {
      break;
    }
  }
  // Whoever gets the port of `from` next could send to the program.
  const FileDescriptor to(fcntl(rest->to, F_DUPFD_CLOEXEC, 0));
  if (to && inode_of(to.get()) == rest->to_inode) (void)listen_to(to.get(), rest->port);
  return nullptr;
}

Expected<void, Errno> send_later(Rest rest) {
  auto kept = std::make_unique<Rest>(std::move(rest));
  pthread_t thread{};
  if (const int result = start_thread(&thread, send_rest, kept.get()); result != 0) {
    return error(result);
  }
  (void)kept.release();
  pthread_detach(thread);
  return {};
}

}  // namespace

int open_socket(int protocol) {
  return static_cast<int>(syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
}

Expected<uint32_t, Errno> port_of(int fd) {
  const auto port = own_port(fd);
  if (!port || *port != 0) return port;
  if (auto listens = listen_to(fd, 0); !listens) return error(listens.error().value);
  return own_port(fd);
}

bool has_option(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_NETLINK, option, &value, &size) == 0 && value != 0;
}

Expected<void, Errno> deliver(int fd, uint32_t port, std::vector<Bytes> messages) {
  Rest rest{FileDescriptor(open_socket(NETLINK_USERSOCK)),
            fd,
            inode_of(fd),
            port,
            std::move(messages),
            0};
  if (!rest.from) return error(errno);
  const auto from = port_of(rest.from.get());
  if (!from) return error(from.error().value);
  const bool is_first = listens_to_anybody(fd);
  if (auto listens = listen_to(fd, *from); !listens) return listens;
  if (is_first) drop_received(fd);
  for (; rest.next < rest.messages.size(); ++rest.next) {
    if (send_to(rest.from.get(), port, rest.messages[rest.next], MSG_DONTWAIT)) continue;
    if (errno == EAGAIN) return send_later(std::move(rest));
    return error(errno);
  }
  // No other socket can have the port of `fd`, so nobody else can send to it now.
  return listen_to(fd, port);
}

}  // namespace urxe::netlink
