// SPDX-License-Identifier: BSD-2-Clause
#include "tests/apps/rdma_cm_listener/many.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/apps/rdma_cm_listener/ids.h"

namespace urxe::test {

void many_ids(int count) {
  const Channel channel;
  std::vector<rdma_cm_id*> ids(static_cast<size_t>(count));
  for (rdma_cm_id*& id : ids) {
    check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  }
  for (rdma_cm_id* id : ids) check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

void many_listeners(const char* node, int count) {
  const Channel channel;
  std::vector<rdma_cm_id*> listeners;
  for (int i = 0; i < count; ++i) listeners.push_back(make_listener(channel, node));
  std::printf("ports");
  for (rdma_cm_id* id : listeners) std::printf(" %u", ntohs(rdma_get_src_port(id)));
  std::printf("\n");
  std::fflush(stdout);
  for (;;) {
    const Channel::Event request = channel.next();
    check(request.type == RDMA_CM_EVENT_CONNECT_REQUEST, "CONNECT_REQUEST");
    std::printf("request %u\n", ntohs(rdma_get_src_port(request.listener)));
    std::fflush(stdout);
    check(rdma_reject(request.id, nullptr, 0) == 0, "rdma_reject");
    check(rdma_destroy_id(request.id) == 0, "rdma_destroy_id");
  }
}

void bind_once(const char* node, const char* port) {
  const Channel channel;
  rdma_cm_id* id = nullptr;
  check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  const bool bound = rdma_bind_addr(id, look_up(node, port)->ai_addr) == 0;
  std::printf("bind %s\n", bound ? "OK" : strerrorname_np(errno));
}

}  // namespace urxe::test
