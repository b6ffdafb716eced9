// SPDX-License-Identifier: BSD-2-Clause
// Options of ids.
#include <arpa/inet.h>

#include <cerrno>
#include <cstdlib>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr uint8_t kTos = 0x68;
constexpr uint8_t kChosenTimeout = 17;

int set(rdma_cm_id* id, int name, int value) {
  return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof value);
}

int set_byte(rdma_cm_id* id, int name, uint8_t value) {
  return rdma_set_option(id, RDMA_OPTION_ID, name, &value, sizeof value);
}

// --- What a connection is made with.

void serve_one(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  create_qp(request.id);
  rdma_conn_param connection = parameters();
  need(rdma_accept(request.id, &connection), "rdma_accept");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(request.id);
  destroy(listener);
}

void refuse_wrong_options(rdma_cm_id* id) {
  uint8_t byte = 0;
  expect(rdma_set_option(id, RDMA_OPTION_ID, 99, &byte, 1) != 0, "no option 99");
  expect(rdma_set_option(id, 99, RDMA_OPTION_ID_TOS, &byte, 1) != 0, "no level 99");
  need_errno(set(id, RDMA_OPTION_ID_TOS, kTos), EINVAL, "four bytes of TOS");
  need_errno(set_byte(id, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL, "one byte of reuse");
}

void call_with_options(const Place& place) {
  Channel channel;
  const AddressInfo info(place, false);
  rdma_cm_id* id = create_id(channel);
  refuse_wrong_options(id);
  need(set_byte(id, RDMA_OPTION_ID_TOS, kTos), "RDMA_OPTION_ID_TOS");
  need(set_byte(id, RDMA_OPTION_ID_ACK_TIMEOUT, kChosenTimeout), "RDMA_OPTION_ID_ACK_TIMEOUT");
  need(rdma_resolve_addr(id, nullptr, info.address(), 5000), "rdma_resolve_addr");
  channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  need_errno(rdma_resolve_route(id, 0), EINVAL, "no time for a route");
  need(rdma_resolve_route(id, 5000), "rdma_resolve_route");
  channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  const int wanted = IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  expect(ibv_query_qp(id->qp, &attributes, wanted, &init) == 0, "ibv_query_qp");
  expect(attributes.ah_attr.grh.traffic_class == kTos, "the traffic class that was asked for");
  expect(attributes.timeout == kChosenTimeout, "the timeout that was asked for");
  expect(attributes.retry_cnt == 5 && attributes.rnr_retry == 7, "the retries asked for");
  need(rdma_disconnect(id), "rdma_disconnect");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

// --- What the two ends settle: each number is another one.

struct Depths {
  int reads_sent;      ///< at a time
  int reads_answered;  ///< at a time
  int rnr_retries;
};

void expect_settled(rdma_cm_id* id, const Depths& expected) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  const int wanted =
      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  expect(ibv_query_qp(id->qp, &attributes, wanted, &init) == 0, "ibv_query_qp");
  expect(attributes.max_rd_atomic == expected.reads_sent, "the reads it may send");
  expect(attributes.max_dest_rd_atomic == expected.reads_answered, "the reads it answers");
  expect(attributes.retry_cnt == 6, "the retries that the client asks for");
  expect(attributes.rnr_retry == expected.rnr_retries, "the RNR retries that the peer asks for");
}

void serve_settling(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  const rdma_conn_param& asked = request.connection;
  expect(asked.responder_resources == 2 && asked.initiator_depth == 4, "the client's, mirrored");
  expect(asked.retry_count == 6 && asked.rnr_retry_count == 5, "the client's retries");
  expect(asked.qp_num != 0, "the client's queue pair");
  create_qp(request.id);
  rdma_conn_param connection = parameters();
  connection.responder_resources = 2;
  connection.initiator_depth = 1;
  connection.rnr_retry_count = 3;
  need(rdma_accept(request.id, &connection), "rdma_accept");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  expect_settled(request.id, {1, 2, 5});
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(request.id);
  destroy(listener);
}

void call_settling(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  rdma_conn_param connection = parameters();
  connection.responder_resources = 4;
  connection.initiator_depth = 2;
  connection.retry_count = 6;
  connection.rnr_retry_count = 5;
  need(rdma_connect(id, &connection), "rdma_connect");
  const Event established = channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  const rdma_conn_param& settled = established.connection;
  expect(settled.responder_resources == 1 && settled.initiator_depth == 2,
         "the server's, mirrored");
  expect(settled.rnr_retry_count == 3, "the server's RNR retries");
  expect_settled(id, {2, 1, 3});
  need(rdma_disconnect(id), "rdma_disconnect");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

// --- What an address binds.

/// As Linux has it: a device only if the address is neither the wildcard nor a loopback address.
void bind_loopback(const Place& place) {
  const Channel channel;
  const AddressInfo info(place, true);
  for (const bool names_another : {false, true}) {
    sockaddr_in another{};
    another.sin_family = AF_INET;
    another.sin_addr.s_addr = htonl(0x7f090909);
    rdma_cm_id* id = create_id(channel);
    sockaddr* const address =
        names_another ? reinterpret_cast<sockaddr*>(&another) : info.address();
    need(rdma_bind_addr(id, address), "rdma_bind_addr");
    expect(id->verbs == nullptr, "no device");
    expect(rdma_get_src_port(id) != 0, "a port");
    need(rdma_listen(id, 1), "rdma_listen");
    destroy(id);
  }
}

// --- Who may have a port.

rdma_cm_id* bind_sharing(const Channel& channel, const Place& place) {
  const AddressInfo info(place, true);
  errno = 0;
  rdma_cm_id* id = create_id(channel);
  need(set(id, RDMA_OPTION_ID_REUSEADDR, 1), "RDMA_OPTION_ID_REUSEADDR");
  need(rdma_bind_addr(id, info.address()), "rdma_bind_addr");
  expect(errno == 0, "calls that succeed to leave errno alone");
  return id;
}

void share_a_port(const Place& place) {
  const Channel channel;
  rdma_cm_id* first = bind_sharing(channel, place);
  rdma_cm_id* second = bind_sharing(channel, place);
  need_errno(rdma_listen(first, 1), EADDRINUSE, "to listen where another one is bound");
  destroy(second);
  need(rdma_listen(first, 1), "rdma_listen");
  need_errno(set(first, RDMA_OPTION_ID_REUSEADDR, 1), EINVAL, "to share what it listens on");
  const AddressInfo info(place, true);
  rdma_cm_id* late = create_id(channel);
  need(set(late, RDMA_OPTION_ID_REUSEADDR, 1), "RDMA_OPTION_ID_REUSEADDR");
  need_errno(rdma_bind_addr(late, info.address()), EADDRINUSE, "to bind where one listens");
  destroy(late);
  destroy(first);
}

/// All addresses of each family, with the place's port.
class Wildcards {
 public:
  explicit Wildcards(const Place& place) {
    const auto port = htons(static_cast<uint16_t>(std::atoi(place.service.c_str())));
    ipv4_.sin_family = AF_INET;
    ipv4_.sin_port = port;
    ipv6_.sin6_family = AF_INET6;
    ipv6_.sin6_port = port;
  }
  sockaddr* ipv4() { return reinterpret_cast<sockaddr*>(&ipv4_); }
  sockaddr* ipv6() { return reinterpret_cast<sockaddr*>(&ipv6_); }

 private:
  sockaddr_in ipv4_{};
  sockaddr_in6 ipv6_{};
};

void keep_families_apart(const Place& place) {
  const Channel channel;
  Wildcards any(place);
  rdma_cm_id* of_ipv4 = create_id(channel);
  need(rdma_bind_addr(of_ipv4, any.ipv4()), "rdma_bind_addr");
  rdma_cm_id* of_both = create_id(channel);
  need(set(of_both, RDMA_OPTION_ID_AFONLY, 0), "RDMA_OPTION_ID_AFONLY");
  need_errno(rdma_bind_addr(of_both, any.ipv6()), EADDRINUSE, "all addresses, IPv4 too");
  destroy(of_both);
  rdma_cm_id* of_ipv6 = create_id(channel);
  need(set(of_ipv6, RDMA_OPTION_ID_AFONLY, 1), "RDMA_OPTION_ID_AFONLY");
  need(rdma_bind_addr(of_ipv6, any.ipv6()), "rdma_bind_addr");
  need(rdma_listen(of_ipv4, 1), "rdma_listen");
  need(rdma_listen(of_ipv6, 1), "rdma_listen");
  destroy(of_ipv6);
  destroy(of_ipv4);
}

/// The network namespace's net.ipv6.bindv6only is 1.
void follow_bindv6only(const Place& place) {
  const Channel channel;
  Wildcards any(place);
  rdma_cm_id* of_ipv6 = create_id(channel);
  need(rdma_bind_addr(of_ipv6, any.ipv6()), "rdma_bind_addr");
  rdma_cm_id* of_ipv4 = create_id(channel);
  need(rdma_bind_addr(of_ipv4, any.ipv4()), "rdma_bind_addr");
  rdma_cm_id* of_both = create_id(channel);
  need(set(of_both, RDMA_OPTION_ID_AFONLY, 0), "RDMA_OPTION_ID_AFONLY");
  need_errno(rdma_bind_addr(of_both, any.ipv6()), EADDRINUSE, "the option goes before");
  destroy(of_both);
  destroy(of_ipv4);
  destroy(of_ipv6);
}

}  // namespace

const std::vector<Case> kOptionCases = {
    {"options", serve_one, call_with_options}, {"settled", serve_settling, call_settling},
    {"bind_loopback", nullptr, bind_loopback}, {"reuse_address", nullptr, share_a_port},
    {"af_only", nullptr, keep_families_apart}, {"bindv6only", nullptr, follow_bindv6only},
};

}  // namespace verify
