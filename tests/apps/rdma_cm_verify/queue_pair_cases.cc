// SPDX-License-Identifier: BSD-2-Clause
// Connections whose queue pairs the application makes and moves itself, with ECE options.
#include <algorithm>
#include <cstring>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr ibv_ece kClientEce{0x123456, 0x89abcdef, 0};
// librdmacm answers with the vendor that has asked.
constexpr ibv_ece kServerEce{kClientEce.vendor_id, 0x76543210, 0};

constexpr uint8_t kRejectBytes = 148;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

/// A queue pair with its memory, that rdma_cm does not know.
class QueuePair {
 public:
  explicit QueuePair(rdma_cm_id* id)
      : id_(id),
        pd_(need_object(ibv_alloc_pd(id->verbs), "ibv_alloc_pd")),
        cq_(need_object(ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0), "ibv_create_cq")),
        buffer_(1000),
        region_(
            need_object(ibv_reg_mr(pd_, buffer_.data(), buffer_.size(), kAccess), "ibv_reg_mr")) {
    ibv_qp_init_attr init = queue_pair_attributes();
    init.send_cq = init.recv_cq = cq_;
    qp_ = need_object(ibv_create_qp(pd_, &init), "ibv_create_qp");
  }
  ~QueuePair() {
    ibv_destroy_qp(qp_);
    ibv_dereg_mr(region_);
    ibv_destroy_cq(cq_);
    ibv_dealloc_pd(pd_);
  }
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] uint32_t number() const { return qp_->qp_num; }

  /// As rdma_cm says.
  void move_to(ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    int mask = 0;
    need(rdma_init_qp_attr(id_, &attributes, &mask), "rdma_init_qp_attr");
    expect(attributes.qp_state == state, "attributes of that state");
    const int result = ibv_modify_qp(qp_, &attributes, mask);
    if (result != 0) fail(std::string("ibv_modify_qp: ") + std::strerror(result));
  }

  /// The access rights that rdma_cm gives it on its way to INIT.
  [[nodiscard]] unsigned rights() const {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    int mask = 0;
    need(rdma_init_qp_attr(id_, &attributes, &mask), "rdma_init_qp_attr");
    return attributes.qp_access_flags;
  }

  void post_receive() {
    ibv_sge sge = all();
    ibv_recv_wr wr{1, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    expect(ibv_post_recv(qp_, &wr, &bad) == 0, "ibv_post_recv");
  }
  void send(uint8_t seed) {
    const auto bytes = pattern(buffer_.size(), seed);
    std::copy(bytes.begin(), bytes.end(), buffer_.begin());
    ibv_sge sge = all();
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    expect(ibv_post_send(qp_, &wr, &bad) == 0, "ibv_post_send");
    wait();
  }
  void receive(uint8_t seed) {
    wait();
    expect(buffer_ == pattern(buffer_.size(), seed), "the message that was sent");
  }

 private:
  [[nodiscard]] ibv_sge all() const {
    return {reinterpret_cast<uintptr_t>(buffer_.data()), static_cast<uint32_t>(buffer_.size()),
            region_->lkey};
  }
  void wait() {
    ibv_wc wc{};
    while (ibv_poll_cq(cq_, 1, &wc) == 0) {
    }
    if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
  }

  rdma_cm_id* id_;
  ibv_pd* pd_;
  ibv_cq* cq_;
  std::vector<uint8_t> buffer_;
  ibv_mr* region_;
  ibv_qp* qp_ = nullptr;
};

void expect_ece(rdma_cm_id* id, const ibv_ece& expected) {
  ibv_ece got{};
  need(rdma_get_remote_ece(id, &got), "rdma_get_remote_ece");
  expect(got.vendor_id == expected.vendor_id && got.options == expected.options,
         "the ECE options that the peer has set");
}

void set_ece(rdma_cm_id* id, ibv_ece ece) {
  need(rdma_set_local_ece(id, &ece), "rdma_set_local_ece");
}

void serve_own_queue_pair(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  expect_ece(request.id, kClientEce);
  set_ece(request.id, kServerEce);
  {
    QueuePair queue_pair(request.id);
    queue_pair.move_to(IBV_QPS_INIT);
    queue_pair.post_receive();
    queue_pair.move_to(IBV_QPS_RTR);
    queue_pair.move_to(IBV_QPS_RTS);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_accept(request.id, &connection), "rdma_accept");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    queue_pair.receive(31);
    queue_pair.send(32);
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(request.id);
  destroy(listener);
}

void call_own_queue_pair(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  set_ece(id, kClientEce);
  {
    QueuePair queue_pair(id);
    expect(queue_pair.rights() == 0, "no rights before the request");
    queue_pair.move_to(IBV_QPS_INIT);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_connect(id, &connection), "rdma_connect");
    constexpr unsigned kRights =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    expect((queue_pair.rights() & kRights) == kRights, "the peer's rights before its reply");
    const Event response = channel.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
    expect(response.connection.qp_num != 0, "the server's queue pair");
    expect_ece(id, kServerEce);
    queue_pair.move_to(IBV_QPS_RTR);
    queue_pair.move_to(IBV_QPS_RTS);
    need(rdma_establish(id), "rdma_establish");
    queue_pair.send(31);
    queue_pair.post_receive();
    queue_pair.receive(32);
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
}

// --- A client that sends before it confirms: data comes to a queue pair that only receives so far.

void expect_communication_established(ibv_context* context, uint32_t qpn) {
  ibv_async_event event{};
  need(ibv_get_async_event(context, &event), "ibv_get_async_event");
  expect(event.event_type == IBV_EVENT_COMM_EST, "IBV_EVENT_COMM_EST");
  expect(event.element.qp->qp_num == qpn, "the event to be the queue pair's");
  ibv_ack_async_event(&event);
}

void serve_notifying(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  {
    QueuePair queue_pair(request.id);
    queue_pair.move_to(IBV_QPS_INIT);
    queue_pair.post_receive();
    queue_pair.move_to(IBV_QPS_RTR);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_accept(request.id, &connection), "rdma_accept");
    expect_communication_established(request.id->verbs, queue_pair.number());
    need(rdma_notify(request.id, IBV_EVENT_COMM_EST), "rdma_notify");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    queue_pair.receive(41);
    queue_pair.move_to(IBV_QPS_RTS);
    queue_pair.send(42);
    // The confirmation, which came late, has changed nothing.
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(request.id);
  destroy(listener);
}

/// Whose queue pair sends already, and hears nothing of the data's being the first.
void serve_data_first(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  {
    QueuePair queue_pair(request.id);
    queue_pair.move_to(IBV_QPS_INIT);
    queue_pair.post_receive();
    queue_pair.move_to(IBV_QPS_RTR);
    queue_pair.move_to(IBV_QPS_RTS);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_accept(request.id, &connection), "rdma_accept");
    queue_pair.receive(41);
    // The device may have told its connection manager already.
    need(rdma_notify(request.id, IBV_EVENT_COMM_EST), "rdma_notify");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    queue_pair.send(42);
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(request.id);
  destroy(listener);
}

void call_before_confirming(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  {
    QueuePair queue_pair(id);
    queue_pair.move_to(IBV_QPS_INIT);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
    queue_pair.move_to(IBV_QPS_RTR);
    queue_pair.move_to(IBV_QPS_RTS);
    queue_pair.send(41);
    queue_pair.post_receive();
    queue_pair.receive(42);
    need(rdma_establish(id), "rdma_establish");
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
}

// --- The client does not take the server's reply.

void serve_refused(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  create_qp(request.id);
  rdma_conn_param connection = parameters();
  need(rdma_accept(request.id, &connection), "rdma_accept");
  const Event rejected = channel.expect(RDMA_CM_EVENT_REJECTED, kConsumerReject);
  expect_pattern(rejected.private_data, kRejectBytes, 51);
  destroy(request.id);
  destroy(listener);
}

void call_refusing(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  {
    const QueuePair queue_pair(id);
    rdma_conn_param connection = parameters();
    connection.qp_num = queue_pair.number();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
    const auto data = pattern(kRejectBytes, 51);
    need(rdma_reject(id, data.data(), kRejectBytes), "rdma_reject");
  }
  destroy(id);
}

}  // namespace

const std::vector<Case> kQueuePairCases = {
    {"notify", serve_notifying, call_before_confirming},
    {"own_queue_pair", serve_own_queue_pair, call_own_queue_pair},
    {"data_first", serve_data_first, call_before_confirming},
    {"reply_rejected", serve_refused, call_refusing},
};

}  // namespace verify
