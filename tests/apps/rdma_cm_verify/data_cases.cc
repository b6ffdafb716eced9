// SPDX-License-Identifier: BSD-2-Clause
// What the two sides tell each other before they are connected.
#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstring>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

// What is left of the messages' private data by the IP addresses in it; AF_IB has none.
size_t request_bytes(const Place& place) {
  return place.ib ? 92 : 56;
}
size_t service_request_bytes(const Place& place) {
  return place.ib ? 216 : 180;
}
constexpr size_t kReplyBytes = 196;
constexpr size_t kServiceReplyBytes = 136;
constexpr int kServiceRejected = 2;  // SIDR, IBTA vol. 1, 12.11.2
constexpr size_t kGrhBytes = 40;

void serve_private_data(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  expect_pattern(request.private_data, request_bytes(place), 11);
  create_qp(request.id);
  const auto data = pattern(kReplyBytes, 12);
  rdma_conn_param connection = parameters(data);
  need(rdma_accept(request.id, &connection), "rdma_accept");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(request.id);

  const Event second = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  create_qp(second.id);
  const auto too_much = pattern(kReplyBytes + 1, 12);
  connection = parameters(too_much);
  need_errno(rdma_accept(second.id, &connection), EINVAL, "too long a reply");
  destroy(second.id);
  destroy(listener);
}

/// librdmacm destroys the completion queues that it has made for the queue pair: the reason of the
/// failure stays in errno.
void expect_too_many_sges_refused(rdma_cm_id* id) {
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = 1,
              .max_recv_wr = 1,
              .max_send_sge = 100000,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  need_errno(rdma_create_qp(id, nullptr, &init), EINVAL, "too many SGEs");
}

void call_private_data(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  expect_too_many_sges_refused(id);
  create_qp(id);
  const auto too_much = pattern(request_bytes(place) + 1, 11);
  rdma_conn_param connection = parameters(too_much);
  need_errno(rdma_connect(id, &connection), EINVAL, "too long a request");
  const auto data = pattern(request_bytes(place), 11);
  connection = parameters(data);
  need(rdma_connect(id, &connection), "rdma_connect");
  const Event established = channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  expect_pattern(established.private_data, kReplyBytes, 12);
  need(rdma_disconnect(id), "rdma_disconnect");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);

  id = resolve(channel, place);
  create_qp(id);
  connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  expect(channel.next().type == RDMA_CM_EVENT_REJECTED, "to be rejected");
  destroy(id);
}

// --- Datagrams: the service is resolved.

void serve_datagrams(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place, RDMA_PS_UDP);
  const Event rejected = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  need(rdma_reject(rejected.id, nullptr, 0), "rdma_reject");
  destroy(rejected.id);

  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  expect_pattern(request.private_data, service_request_bytes(place), 21);
  create_qp(request.id, IBV_QPT_UD);
  std::vector<uint8_t> buffer(kGrhBytes + 100);
  ibv_mr* region =
      need_object(rdma_reg_msgs(request.id, buffer.data(), buffer.size()), "rdma_reg_msgs");
  need(rdma_post_recv(request.id, nullptr, buffer.data(), buffer.size(), region), "rdma_post_recv");
  const auto data = pattern(kServiceReplyBytes, 22);
  rdma_conn_param connection = parameters(data);
  connection.qp_num = request.id->qp->qp_num;
  need(rdma_accept(request.id, &connection), "rdma_accept");
  ibv_wc wc{};
  expect(rdma_get_recv_comp(request.id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "a datagram");
  buffer.erase(buffer.begin(), buffer.begin() + kGrhBytes);
  expect_pattern(buffer, 100, 23);
  rdma_dereg_mr(region);
  destroy(request.id);
  destroy(listener);
}

void send_datagram(rdma_cm_id* id, const rdma_ud_param& peer) {
  std::vector<uint8_t> buffer = pattern(100, 23);
  ibv_mr* region = need_object(rdma_reg_msgs(id, buffer.data(), buffer.size()), "rdma_reg_msgs");
  ibv_ah_attr path = peer.ah_attr;
  ibv_ah* ah = need_object(ibv_create_ah(id->pd, &path), "ibv_create_ah");
  need(rdma_post_ud_send(id, nullptr, buffer.data(), buffer.size(), region, IBV_SEND_SIGNALED, ah,
                         peer.qp_num),
       "rdma_post_ud_send");
  ibv_wc wc{};
  expect(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "a datagram sent");
  ibv_destroy_ah(ah);
  rdma_dereg_mr(region);
}

void call_datagrams(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place, RDMA_PS_UDP);
  create_qp(id, IBV_QPT_UD);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_UNREACHABLE, kServiceRejected);
  destroy(id);

  id = resolve(channel, place, RDMA_PS_UDP);
  create_qp(id, IBV_QPT_UD);
  const auto data = pattern(service_request_bytes(place), 21);
  connection = parameters(data);
  need(rdma_connect(id, &connection), "rdma_connect");
  const Event established = channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  expect_pattern(established.private_data, kServiceReplyBytes, 22);
  expect(established.datagrams.qkey == RDMA_UDP_QKEY, "the Q_Key of all");
  expect(established.datagrams.ah_attr.is_global == 1, "a global route");
  send_datagram(id, established.datagrams);
  destroy(id);
}

}  // namespace

const std::vector<Case> kDataCases = {
    {"private_data", serve_private_data, call_private_data},
    {"datagrams", serve_datagrams, call_datagrams},
};

}  // namespace verify
