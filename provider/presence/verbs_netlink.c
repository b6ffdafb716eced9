// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/verbs_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "provider/presence/forks.h"
#include "provider/presence/next.h"

enum { kLongestRequest = 1024, kLongestAnswer = 256 };

static bool set_port(int fd, uint32_t port, int (*use)(int, const struct sockaddr*, socklen_t)) {
  const struct sockaddr_nl name = {.nl_family = AF_NETLINK, .nl_pid = port};
  return use(fd, (const struct sockaddr*)&name, sizeof(name)) == 0;
}

/// 0: the socket has none yet.
static uint32_t port_of(int fd) {
  struct sockaddr_nl name;
  socklen_t size = sizeof(name);
  memset(&name, 0, sizeof(name));
  return getsockname(fd, (struct sockaddr*)&name, &size) == 0 ? name.nl_pid : 0;
}

static int bind_to(int fd, const struct sockaddr* name, socklen_t size) {
  return bind(fd, name, size);
}

static int listen_to(int fd, const struct sockaddr* name, socklen_t size) {
  return connect(fd, name, size);
}

/// Adds a message to the answer. Returns where the next one begins.
static size_t add(char* answer, size_t at, struct nlmsghdr header, const void* body, size_t size) {
  header.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
  header.nlmsg_flags = 0;
  memcpy(answer + at, &header, sizeof(header));
  memcpy(answer + at + NLMSG_HDRLEN, body, size);
  return at + NLMSG_ALIGN(header.nlmsg_len);
}

/// `error`: 0 or a negative errno value.
static size_t acknowledge(char* answer, size_t at, const struct nlmsghdr* request, int error) {
  const struct nlmsgerr body = {.error = error, .msg = *request};
  struct nlmsghdr header = *request;
  header.nlmsg_type = NLMSG_ERROR;
  return add(answer, at, header, &body, sizeof(body));
}

static size_t answer_one(char* answer, const struct nlmsghdr* request) {
  const int system_get = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);
  if (request->nlmsg_type != system_get) return acknowledge(answer, 0, request, -EOPNOTSUPP);
  struct {
    struct nlattr head;
    uint8_t value[4];
  } property = {{NLA_HDRLEN + 1, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK}, {urxe_has_safe_forks()}};
  const size_t end = add(answer, 0, *request, &property, sizeof(property));
  return (request->nlmsg_flags & NLM_F_ACK) != 0 ? acknowledge(answer, end, request, 0) : end;
}

/// From a socket of ours, the only one that the program's receives from meanwhile. Afterwards it
/// receives from itself only: another program's messages are no answers.
static bool deliver(int fd, const char* answer, size_t size) {
  const uint32_t port = port_of(fd);
  const int from = URXE_NEXT(socket)(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
  bool delivered = port != 0 && from >= 0 && set_port(from, 0, bind_to) &&
                   set_port(fd, port_of(from), listen_to);
  char other;
  while (delivered && recv(fd, &other, sizeof(other), MSG_DONTWAIT) >= 0) {
  }
  struct sockaddr_nl to = {.nl_family = AF_NETLINK, .nl_pid = port};
  struct iovec piece = {(void*)answer, size};
  const struct msghdr message = {
      .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &piece, .msg_iovlen = 1};
  delivered = delivered && URXE_NEXT(sendmsg)(from, &message, MSG_DONTWAIT) >= 0;
  if (delivered) set_port(fd, port, listen_to);
  if (from >= 0) close(from);
  return delivered;
}

ssize_t urxe_answer_verbs(int fd, const struct msghdr* message) {
  union {
    struct nlmsghdr header;
    char bytes[kLongestRequest];
  } request;
  size_t size = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i) {
    const struct iovec* piece = &message->msg_iov[i];
    if (piece->iov_len > sizeof(request) - size) {
      errno = EMSGSIZE;
      return -1;
    }
    memcpy(request.bytes + size, piece->iov_base, piece->iov_len);
    size += piece->iov_len;
  }
  if (size < sizeof(request.header)) return (ssize_t)size;  // as the kernel: no request
  char answer[kLongestAnswer];
  if (deliver(fd, answer, answer_one(answer, &request.header))) return (ssize_t)size;
  errno = ECONNREFUSED;
  return -1;
}
