// SPDX-License-Identifier: BSD-2-Clause
// Paths that the application knows itself: RDMA_OPTION_IB_PATH in the place of
// rdma_resolve_route().
#include <endian.h>
#include <infiniband/sa.h>
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstdlib>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr uint32_t kPrimary =
    IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
constexpr uint8_t kExactly = 2 << 6;
constexpr uint8_t kTrafficClass = 0x48;
constexpr uint8_t kHopLimit = 33;
constexpr uint8_t kLifetime = 19;
constexpr ibv_mtu kMtu = IBV_MTU_512;

/// Between the addresses that were resolved.
ibv_path_data path_of(const rdma_cm_id* id) {
  const rdma_ib_addr& addresses = id->route.addr.addr.ibaddr;
  ibv_path_data data{};
  data.flags = kPrimary;
  data.path.sgid = addresses.sgid;
  data.path.dgid = addresses.dgid;
  data.path.flowlabel_hoplimit = htobe32(kHopLimit);
  data.path.tclass = kTrafficClass;
  data.path.reversible_numpath = 0x80 | 1;
  data.path.pkey = htobe16(0xffff);
  data.path.mtu = kExactly | kMtu;
  data.path.rate = kExactly | IBV_RATE_10_GBPS;
  data.path.packetlifetime = kExactly | kLifetime;
  return data;
}

int set(rdma_cm_id* id, ibv_path_data* paths, size_t bytes) {
  return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths, bytes);
}

ibv_qp_attr attributes_of(const rdma_cm_id* id) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  const int wanted = IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_PATH_MTU;
  expect(ibv_query_qp(id->qp, &attributes, wanted, &init) == 0, "ibv_query_qp");
  return attributes;
}

void expect_on_path(const rdma_cm_id* id) {
  const ibv_qp_attr attributes = attributes_of(id);
  expect(attributes.path_mtu == kMtu, "the path's MTU");
  expect(attributes.ah_attr.grh.traffic_class == kTrafficClass, "the path's traffic class");
  expect(attributes.ah_attr.grh.hop_limit == kHopLimit, "the path's hop limit");
  expect(attributes.timeout > kLifetime, "a timeout of twice the path's life time");
}

/// One connection: a message each way, and the server's queue pair is on the path, too.
void serve_path(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  for (int connections = 0; connections < 2; ++connections) {
    const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    create_qp(request.id);
    {
      Messages messages(request.id);
      messages.post_receive();
      rdma_conn_param connection = parameters();
      need(rdma_accept(request.id, &connection), "rdma_accept");
      channel.expect(RDMA_CM_EVENT_ESTABLISHED);
      expect(attributes_of(request.id).path_mtu == kMtu, "the path's MTU");
      messages.receive(51);
      messages.send(52);
      channel.expect(RDMA_CM_EVENT_DISCONNECTED);
    }
    destroy(request.id);
  }
  destroy(listener);
}

void refuse_wrong_paths(rdma_cm_id* id) {
  ibv_path_data path = path_of(id);
  need_errno(set(id, &path, sizeof path - 1), EINVAL, "part of a path");
  path.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_ALTERNATE | IBV_PATH_FLAG_BIDIRECTIONAL;
  need_errno(set(id, &path, sizeof path), EINVAL, "an alternate path alone");
  path.flags = kPrimary & ~static_cast<uint32_t>(IBV_PATH_FLAG_INBOUND_REVERSE);
  need_errno(set(id, &path, sizeof path), EINVAL, "a path one way");
}

/// The answer is awaited on the channel, as rdma_resolve_route()'s is.
ibv_path_data call_on_channel(const Place& place) {
  Channel channel;
  const AddressInfo info(place, false);
  rdma_cm_id* id = create_id(channel);
  ibv_path_data early{};
  early.flags = kPrimary;
  need_errno(set(id, &early, sizeof early), EINVAL, "a path before the addresses are known");
  need(rdma_resolve_addr(id, nullptr, info.address(), 5000), "rdma_resolve_addr");
  channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  refuse_wrong_paths(id);
  // The first that will do is taken.
  ibv_path_data paths[2] = {path_of(id), path_of(id)};
  paths[0].flags = IBV_PATH_FLAG_OUTBOUND;
  paths[0].path.tclass = 0;
  need(set(id, paths, sizeof paths), "RDMA_OPTION_IB_PATH");
  channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  need_errno(set(id, paths, sizeof paths), EINVAL, "another path");
  expect(id->route.num_paths == 1, "one path");
  expect(id->route.path_rec->traffic_class == kTrafficClass, "the path that was set");
  create_qp(id);
  {
    Messages messages(id);
    messages.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    expect_on_path(id);
    messages.send(51);
    messages.receive(52);
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
  return paths[1];
}

/// rdma_create_ep() takes the path from the addresses' information.
void call_endpoint(const Place& place, const ibv_path_data& path) {
  const AddressInfo info(place, false);
  auto* route = static_cast<ibv_path_data*>(std::malloc(sizeof path));
  *need_object(route, "malloc") = path;
  std::free(info.get()->ai_route);
  info.get()->ai_route = route;  // freed with the rest
  info.get()->ai_route_len = sizeof path;
  ibv_qp_init_attr attributes = queue_pair_attributes();
  rdma_cm_id* id = nullptr;
  need(rdma_create_ep(&id, info.get(), nullptr, &attributes), "rdma_create_ep");
  {
    Messages messages(id);
    messages.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    expect_on_path(id);
    messages.send(51);
    messages.receive(52);
    need(rdma_disconnect(id), "rdma_disconnect");
  }
  rdma_destroy_ep(id);
}

void call_path(const Place& place) {
  const ibv_path_data path = call_on_channel(place);
  call_endpoint(place, path);
}

}  // namespace

const std::vector<Case> kPathCases = {
    {"path", serve_path, call_path},
};

}  // namespace verify
