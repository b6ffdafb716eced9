// SPDX-License-Identifier: BSD-2-Clause
/// Opens RDMA netlink from the library named; prints the error, or "open", and what libibverbs
/// would be answered.
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static union {
  struct nlmsghdr header;
  char bytes[1024];
} answer;

/// Asks, and receives into `answer`.
static int ask(int fd, int command, int flags) {
  struct nlmsghdr request = {.nlmsg_len = sizeof(request),
                             .nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
                             .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                             .nlmsg_seq = 7};
  struct iovec piece = {&request, sizeof(request)};
  const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  if (sendmsg(fd, &message, 0) != sizeof(request)) return -1;
  return recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) > 0 && answer.header.nlmsg_seq == 7 ? 0
                                                                                             : -1;
}

static void show_answers(int fd) {
  struct nlmsgerr refusal;
  struct nlattr property;
  struct sockaddr_nl own = {.nl_family = AF_NETLINK};
  if (bind(fd, (struct sockaddr*)&own, sizeof(own)) != 0) return;
  for (int round = 0; round < 2; ++round) {
    if (ask(fd, RDMA_NLDEV_CMD_GET, NLM_F_DUMP | NLM_F_ACK) != 0) return;
    memcpy(&refusal, NLMSG_DATA(&answer.header), sizeof(refusal));
    const char* const kind =
        answer.header.nlmsg_type == NLMSG_ERROR ? strerror(-refusal.error) : "?";
    printf("devices: %s\n", kind);
    if (ask(fd, RDMA_NLDEV_CMD_SYS_GET, 0) != 0) return;
    memcpy(&property, NLMSG_DATA(&answer.header), sizeof(property));
    const char* const value = (const char*)NLMSG_DATA(&answer.header) + NLA_HDRLEN;
    printf("property %d: %d\n", property.nla_type, *value);
  }
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void* symbol = library != NULL ? dlsym(library, "open_rdma_netlink") : NULL;
  if (symbol == NULL) return 2;
  int (*open_rdma_netlink)(void);
  memcpy(&open_rdma_netlink, &symbol, sizeof(symbol));
  const int fd = open_rdma_netlink();
  puts(fd >= 0 ? "open" : strerror(errno));
  if (strstr(argv[1], "libibverbs") != NULL) show_answers(fd);
  return 0;
}
