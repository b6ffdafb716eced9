// SPDX-License-Identifier: BSD-2-Clause
// A program with one completion queue, and a send queue of one element, waits for the completion of
// its SEND first, then for the reply.
#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr int kRounds = 500;

/// One end, with a send queue of one.
class Talker {
 public:
  explicit Talker(rdma_cm_id* id)
      : id_(id),
        cq_(need_object(ibv_create_cq(id->verbs, 16, nullptr, nullptr, 0), "ibv_create_cq")) {
    ibv_qp_init_attr attributes = queue_pair_attributes();
    attributes.send_cq = attributes.recv_cq = cq_;
    attributes.cap = {1, 8, 1, 1, sizeof word_};
    need(rdma_create_qp(id, nullptr, &attributes), "rdma_create_qp");
    region_ = need_object(rdma_reg_msgs(id, &word_, sizeof word_), "rdma_reg_msgs");
  }
  ~Talker() {
    ibv_dereg_mr(region_);
    rdma_destroy_qp(id_);
    ibv_destroy_cq(cq_);
  }
  Talker(const Talker&) = delete;
  Talker& operator=(const Talker&) = delete;

  void post_receive() {
    need(rdma_post_recv(id_, nullptr, &word_, sizeof word_, region_), "rdma_post_recv");
  }
  void send() {
    int said = 0;
    need(rdma_post_send(id_, nullptr, &said, sizeof said, nullptr, IBV_SEND_INLINE),
         "rdma_post_send: the place of the last one");
  }
  void expect_next(ibv_wc_opcode opcode, const char* what) {
    ibv_wc wc{};
    while (ibv_poll_cq(cq_, 1, &wc) == 0) {
    }
    expect(wc.status == IBV_WC_SUCCESS, "success");
    expect(wc.opcode == opcode, what);
  }

 private:
  rdma_cm_id* id_;
  ibv_cq* cq_;
  ibv_mr* region_ = nullptr;
  int word_ = 0;
};

void serve_replies(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  {
    Talker talker(request.id);
    talker.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_accept(request.id, &connection), "rdma_accept");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    for (int i = 0; i < kRounds; ++i) {
      if (i > 0) talker.expect_next(IBV_WC_SEND, "the last reply's completion before the message");
      talker.expect_next(IBV_WC_RECV, "a message");
      talker.post_receive();
      talker.send();
    }
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(request.id);
  destroy(listener);
}

void call_for_replies(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  {
    Talker talker(id);
    talker.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    for (int i = 0; i < kRounds; ++i) {
      talker.send();
      talker.expect_next(IBV_WC_SEND, "the message's completion before the reply");
      talker.expect_next(IBV_WC_RECV, "a reply");
      talker.post_receive();
    }
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
}

}  // namespace

const std::vector<Case> kReplyCases = {{"replies", serve_replies, call_for_replies}};

}  // namespace verify
