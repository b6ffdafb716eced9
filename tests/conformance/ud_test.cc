// SPDX-License-Identifier: BSD-2-Clause
// UD: datagrams, the GRH area, keys, sizes.
#include <arpa/inet.h>

#include "tests/conformance/support/datagrams.h"

namespace conformance {
namespace {

constexpr uint32_t kPrivilegedQkey = 0x80000000;

struct Ud : DatagramConformance {
  /// A message that is dropped, then one that arrives: in `id`'s receive.
  void expect_dropped(Send bad) {
    ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
    ASSERT_EQ(bad.post(left_qp()), 0);
    expect_completion(left_done(), 1);
    ASSERT_EQ(message(2, 33).post(left_qp()), 0);
    expect_completion(left_done(), 2);
    EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 33 + kGrhSize)
        << "the first message should have been dropped";
  }
  int modify_qkey(ibv_qp* qp, uint32_t qkey) {
    ibv_qp_attr attr{};
    attr.qkey = qkey;
    return ibv_modify_qp(qp, &attr, IBV_QP_QKEY);
  }
};

TEST_F(Ud, SendOfEverySize) {
  checks("ibv_post_send(3): IBV_WR_SEND on UD; ibv_poll_cq(3): byte_len counts the GRH");
  start();
  if (stopped()) return;
  for (const uint32_t size : {0U, 1U, 2U, 3U, 4U, 255U, 1024U, mtu_bytes() - 1, mtu_bytes()}) {
    local_->fill_pattern(static_cast<uint8_t>(size));
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    ASSERT_EQ(message(1, size).post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_SEND);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size + kGrhSize);
    EXPECT_EQ(std::memcmp(&remote_->bytes[kGrhSize], local_->bytes.data(), size), 0) << size;
  }
}

TEST_F(Ud, CompletionMembers) {
  checks("ibv_poll_cq(3): src_qp, qp_num, wc_flags, pkey_index");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(message(1, 8).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  const ibv_wc wc = expect_completion(right_received(), 2);
  EXPECT_EQ(wc.src_qp, left_->number());
  EXPECT_EQ(wc.qp_num, right_->number());
  EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_GRH});
  EXPECT_EQ(wc.pkey_index, 0);
}

TEST_F(Ud, ServiceLevelByEitherWayOfPolling) {
  checks("ibv_create_cq_ex(3): ibv_wc_read_sl(); ibv_poll_cq(3): sl");
  start();
  if (stopped()) return;
  ibv_cq_init_attr_ex init{};
  init.cqe = 16;
  init.wc_flags = IBV_WC_STANDARD_FLAGS;
  errno = 0;
  ibv_cq_ex* const iterator = ibv_create_cq_ex(context(), &init);
  need(iterator != nullptr || !is_unsupported(errno), "extended completion queues");
  if (stopped()) return;
  ASSERT_NE(iterator, nullptr);
  const CqPtr cq(ibv_cq_ex_to_cq(iterator));
  const QpPtr third(
      Endpoint::create(device_, right_->config, right_->pd, right_->send_cq.get(), cq.get()));
  ASSERT_NE(third, nullptr);
  connect(device_, third.get(), right_->config, 0);
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(Recv(3).data(remote_->sge()).post(third.get()), 0);
  ASSERT_EQ(message(1, 8).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  const ibv_wc wc = expect_completion(right_received(), 2);
  Send to_third = Send(4);
  to_third.data(local_->sge(0, 8)).to(ah_.get(), third->qp_num, right_->config.qkey);
  ASSERT_EQ(to_third.post(left_qp()), 0);
  ibv_poll_cq_attr attr{};
  ASSERT_TRUE(eventually([&] { return ibv_start_poll(iterator, &attr) == 0; }));
  EXPECT_EQ(iterator->wr_id, 3U);
  EXPECT_EQ(ibv_wc_read_sl(iterator), wc.sl);
  ibv_end_poll(iterator);
  expect_completion(left_done(), 4);
}

TEST_F(Ud, SendWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_SEND_WITH_IMM on UD");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  Send send(1, IBV_WR_SEND_WITH_IMM);
  send.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), right_->config.qkey).imm(0xcafe);
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  const ibv_wc wc = expect_completion(right_received(), 2);
  EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
  EXPECT_EQ(ntohl(wc.imm_data), 0xcafeU);
}

TEST_F(Ud, GatheredFromManyParts) {
  checks("ibv_post_send(3), ibv_post_recv(3): sg_list on UD");
  start();
  if (stopped()) return;
  Recv receive(2);
  receive.data(remote_->sge(500, 10)).data(remote_->sge(0, kGrhSize)).data(remote_->sge(600, 100));
  ASSERT_EQ(receive.post(right_qp()), 0);
  Send send = message(1, 10);
  ASSERT_EQ(send.data(local_->sge(100, 20)).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(expect_completion(right_received(), 2).byte_len, kGrhSize + 30);
  // 40 bytes of GRH fill the first element and 30 of the second.
  EXPECT_EQ(std::memcmp(&remote_->bytes[30], local_->bytes.data(), 10), 0);
  EXPECT_EQ(std::memcmp(&remote_->bytes[600], &local_->bytes[100], 20), 0);
}

TEST_F(Ud, Inline) {
  checks("ibv_post_send(3): IBV_SEND_INLINE on UD");
  QpConfig config;
  config.cap.max_inline_data = 64;
  start(config);
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  std::vector<uint8_t> bytes(64, 0x66);
  Send send(1);
  send.data({reinterpret_cast<uint64_t>(bytes.data()), 64, 0}).flags(IBV_SEND_INLINE);
  send.to(ah_.get(), right_->number(), right_->config.qkey);
  ASSERT_EQ(send.post(left_qp()), 0);
  std::fill(bytes.begin(), bytes.end(), uint8_t{0});
  EXPECT_EQ(expect_completion(right_received(), 2).byte_len, kGrhSize + 64);
  EXPECT_EQ(remote_->bytes[kGrhSize + 63], 0x66);
}

TEST_F(Ud, ToItself) {
  checks("IBTA 10.2.4: a UD queue pair may send to itself");
  start();
  if (stopped()) return;
  Buffer inbox(left_->pd, 200);
  ASSERT_EQ(Recv(2).data(inbox.sge()).post(left_qp()), 0);
  Send send(1);
  send.data(local_->sge(0, 100)).to(ah_.get(), left_->number(), left_->config.qkey);
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(expect_completion(left_received(), 2).src_qp, left_->number());
  EXPECT_EQ(std::memcmp(&inbox.bytes[kGrhSize], local_->bytes.data(), 100), 0);
}

TEST_F(Ud, ToManyPeers) {
  checks("ibv_post_send(3): wr.ud: each request has its own destination");
  start();
  if (stopped()) return;
  constexpr size_t kPeers = 10;
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  std::vector<std::unique_ptr<Endpoint>> peers;
  std::vector<std::unique_ptr<Buffer>> inboxes;
  for (size_t i = 0; i < kPeers; ++i) {
    ud.qkey = static_cast<uint32_t>(1000 + i);
    peers.push_back(std::make_unique<Endpoint>(device_, ud));
    peers.back()->connect_to(0);
    inboxes.push_back(std::make_unique<Buffer>(peers.back()->pd, 200));
    ASSERT_EQ(Recv(i).data(inboxes.back()->sge()).post(peers.back()->qp.get()), 0);
  }
  for (size_t i = 0; i < kPeers; ++i) {
    Send send(i);
    send.data(local_->sge(i * 10, 50));
    send.to(ah_.get(), peers[i]->number(), static_cast<uint32_t>(1000 + i));
    ASSERT_EQ(send.post(left_qp()), 0);
  }
  for (size_t i = 0; i < kPeers; ++i) {
    expect_completion(left_done(), i);
    expect_completion(peers[i]->recv_cq.get(), i);
    EXPECT_EQ(std::memcmp(&inboxes[i]->bytes[kGrhSize], &local_->bytes[i * 10], 50), 0);
    inboxes[i].reset();
  }
}

TEST_F(Ud, WrongQkeyIsDropped) {
  checks("IBTA 10.2.5, 9.6.1.4 (C9-52): Q_Key check");
  start();
  if (stopped()) return;
  Send bad(1);
  bad.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), right_->config.qkey + 1);
  expect_dropped(std::move(bad));
}

TEST_F(Ud, TopBitMeansTheQueuePairsOwnQkey) {
  checks("IBTA 10.2.5, 11.4.1.1: a Q_Key with the top bit set is replaced by the queue pair's");
  QpConfig sender;
  sender.qkey = 0x00777777;
  QpConfig receiver;
  receiver.qkey = 0x00777777;
  start(sender, receiver);
  if (stopped()) return;
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  Send send(1);
  send.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), kPrivilegedQkey | 0x1234);
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 8 + kGrhSize);
}

TEST_F(Ud, TopBitIsNeverSentAsIs) {
  checks("IBTA 10.2.5, 11.4.1.1: a Q_Key with the top bit set is replaced by the queue pair's");
  start();
  if (stopped()) return;
  // The receiver's Q_Key is what the request names; the sender's own one is another.
  ASSERT_EQ(modify_qkey(left_qp(), 0x00000042), 0);
  if (!need_if_any(modify_qkey(right_qp(), kPrivilegedQkey | 5) == 0, "privileged Q_Keys")) return;
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  Send send(1);
  send.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), kPrivilegedQkey | 5);
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  // With that Q_Key as its own, the sender gets through.
  ASSERT_EQ(modify_qkey(left_qp(), kPrivilegedQkey | 5), 0);
  Send good(2);
  good.data(local_->sge(0, 33)).to(ah_.get(), right_->number(), kPrivilegedQkey);
  ASSERT_EQ(good.post(left_qp()), 0);
  expect_completion(left_done(), 2);
  EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 33 + kGrhSize);
}

TEST_F(Ud, QkeyCanBeChanged) {
  checks("ibv_modify_qp(3): IBV_QP_QKEY in RTS");
  start();
  if (stopped()) return;
  ASSERT_EQ(modify_qkey(right_qp(), 0x4321), 0);
  EXPECT_EQ(query(right_qp()).qkey, 0x4321U);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  Send send(1);
  send.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), 0x4321);
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 5);
}

TEST_F(Ud, UnknownQueuePairIsNotAnError) {
  checks("IBTA 9.8.3: no acknowledgements; the sender never learns");
  start();
  if (stopped()) return;
  const uint32_t gone = right_->number();
  remote_.reset();
  right_.reset();
  Send send(1);
  ASSERT_EQ(send.data(local_->sge(0, 8)).to(ah_.get(), gone, 1).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_RTS);
}

TEST_F(Ud, NoReceiveDropsTheMessage) {
  checks("IBTA 9.8.3.1.1: a message without a receive is dropped silently");
  start();
  if (stopped()) return;
  ASSERT_EQ(message(1, 8).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  // Self-sends go the same way: this one arrives after the first has been dropped.
  Buffer inbox(left_->pd, 200);
  ASSERT_EQ(Recv(7).data(inbox.sge()).post(left_qp()), 0);
  Send own(3);
  own.data(local_->sge(0, 8)).to(ah_.get(), left_->number(), left_->config.qkey);
  ASSERT_EQ(own.post(left_qp()), 0);
  expect_completion(left_received(), 7);
  expect_completion(left_done(), 3);
  expect_empty(right_received());
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(message(2, 33).post(left_qp()), 0);
  EXPECT_EQ(expect_completion(right_received(), 5).byte_len, 33 + kGrhSize);
}

TEST_F(Ud, InitDropsIncomingPackets) {
  checks("IBTA 10.3.1.2: incoming packets are silently dropped");
  start();
  if (stopped()) return;
  ASSERT_EQ(to_state(right_qp(), IBV_QPS_RESET), 0);
  ASSERT_EQ(to_init(device_, right_qp(), right_->config), 0);
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(message(1, 8).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  Buffer inbox(left_->pd, 200);
  ASSERT_EQ(Recv(7).data(inbox.sge()).post(left_qp()), 0);
  Send own(3);
  own.data(local_->sge(0, 8)).to(ah_.get(), left_->number(), left_->config.qkey);
  ASSERT_EQ(own.post(left_qp()), 0);
  expect_completion(left_received(), 7);
  expect_empty(right_received());
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_INIT);
}

TEST_F(Ud, LongerThanTheMtuIsRefused) {
  checks("IBTA 10.2.2, C9-93; ibv_post_send(3): a UD message is one packet");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  const int result = message(1, mtu_bytes() + 1).post(left_qp());
  if (result != 0) {
    EXPECT_EQ(result, EINVAL);
  } else {
    expect_completion(left_done(), 1, IBV_WC_LOC_LEN_ERR);
  }
  expect_empty(right_received());
}

TEST_F(Ud, ReceiveBufferTooSmall) {
  checks("IBTA 9.8.3.1.1, 10.7.3.2: a receive that cannot hold the message");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).data(remote_->sge(0, kGrhSize + 10)).post(right_qp()), 0);
  ASSERT_EQ(Recv(6).data(remote_->sge(200, 200)).post(right_qp()), 0);
  ASSERT_EQ(message(1, 11).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  ASSERT_EQ(message(2, 4).post(left_qp()), 0);
  expect_completion(left_done(), 2);
  // Dropped (then the next message takes the first receive), or completed in error.
  const ibv_wc wc = next_completion(right_received());
  EXPECT_EQ(wc.wr_id, 5U);
  if (wc.status == IBV_WC_SUCCESS) {
    EXPECT_EQ(wc.byte_len, kGrhSize + 4);
  } else {
    EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
  }
  EXPECT_EQ(remote_->bytes[kGrhSize + 10], 0);
}

TEST_F(Ud, OtherOperationsAreRefused) {
  checks("ibv_post_send(3): UD has SEND only");
  start();
  if (stopped()) return;
  for (const auto opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV, IBV_WR_BIND_MW}) {
    Send send(1, opcode);
    send.data(local_->sge(0, 8)).to(ah_.get(), right_->number(), right_->config.qkey);
    EXPECT_EQ(send.post(left_qp()), EINVAL) << opcode;
  }
}

TEST_F(Ud, AddressHandleOfAnotherDomain) {
  checks("IBTA 10.2.3 (C10-20): address handle and queue pair share a protection domain");
  start();
  if (stopped()) return;
  const PdPtr other = alloc_pd();
  const AhPtr foreign = create_ah(other.get());
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  Send send(1);
  send.data(local_->sge(0, 8)).to(foreign.get(), right_->number(), right_->config.qkey);
  const int result = send.post(left_qp());
  if (result != 0) {
    EXPECT_EQ(result, EINVAL);
  } else {
    const ibv_wc wc = next_completion(left_done());
    EXPECT_TRUE(wc.status == IBV_WC_LOC_QP_OP_ERR || wc.status == IBV_WC_LOC_PROT_ERR)
        << ibv_wc_status_str(wc.status);
  }
  expect_empty(right_received());
}

TEST_F(Ud, LocalErrorLeavesTheReceiveSideAlone) {
  checks("IBTA 10.3.1.6: Send Queue Error");
  start();
  if (stopped()) return;
  Buffer inbox(left_->pd, 200);
  Buffer source(right_->pd, 64);
  const AhPtr back = create_ah(right_->pd);
  ASSERT_EQ(Recv(5).data(inbox.sge()).post(left_qp()), 0);
  Send bad(1);
  bad.data({0x1000, 8, 0x12345678}).to(ah_.get(), right_->number(), right_->config.qkey);
  ASSERT_EQ(bad.post(left_qp()), 0);
  ASSERT_EQ(message(2, 8).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_done(), 2, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_SQE);
  Send from_right(3);
  from_right.data(source.sge()).to(back.get(), left_->number(), left_->config.qkey);
  ASSERT_EQ(from_right.post(right_qp()), 0);
  expect_completion(left_received(), 5);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_RTS), 0);
  ASSERT_EQ(Recv(6).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(message(4, 8).post(left_qp()), 0);
  expect_completion(left_done(), 4);
  expect_completion(right_received(), 6);
}

TEST_F(Ud, SolicitedEvent) {
  checks("ibv_post_send(3): IBV_SEND_SOLICITED on UD");
  const ChannelPtr channel(ibv_create_comp_channel(context()));
  QpConfig with_events;
  with_events.recv_channel = channel.get();
  start({}, with_events);
  if (stopped()) return;
  ASSERT_EQ(ibv_req_notify_cq(right_received(), 1), 0);
  for (uint64_t id = 5; id < 7; ++id) ASSERT_EQ(Recv(id).data(remote_->sge()).post(right_qp()), 0);
  ASSERT_EQ(message(1, 8).post(left_qp()), 0);
  expect_completion(right_received(), 5);
  EXPECT_FALSE(readable(channel->fd, std::chrono::milliseconds{0}));
  ASSERT_EQ(message(2, 8).flags(IBV_SEND_SOLICITED).post(left_qp()), 0);
  expect_completion(right_received(), 6);
  EXPECT_TRUE(readable(channel->fd, kPatience));
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &cq, &unused), 0);
  ibv_ack_cq_events(cq, 1);
  // The queues go before their channel.
  remote_.reset();
  right_.reset();
}

}  // namespace
}  // namespace conformance
