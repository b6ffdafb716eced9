// SPDX-License-Identifier: BSD-2-Clause
// Unreliable datagrams (IBTA vol. 1, 9.8.3, 10.2.5; annex A17.4.5).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "packet/wire/ip/grh.h"
#include "tests/transport/bench.h"

namespace urxe::test::ud_test {
namespace {

// --- The requester.

// Expect: one packet a message, with DETH; each takes a PSN and completes at once.
TEST(UdRequester, Sends) {
  Bench bench(datagram_options());
  bench.post_datagram(5);
  bench.post_datagram(0, 0x22, IBV_SEND_SOLICITED);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 from 0x11 qkey 0x11111111 len 5",
                                 "SEND Only psn 101 solicited from 0x11 qkey 0x22 len 0"}));
  EXPECT_EQ(bench.payloads()[0], counting(5));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

TEST(UdRequester, Immediate) {
  Bench bench(datagram_options());
  sim::SendRequest request;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.immediate_be = 0x04030201;
  request.datagram.flow = {bench.flow_from_peer().destination, bench.flow_from_peer().source};
  request.datagram.qpn = Qpn{Bench::kPeerQpn};
  request.datagram.qkey = QKey{1};
  bench.post(request);
  EXPECT_EQ(bench.sent(),
            (Lines{"SEND Only Immediate psn 100 from 0x11 qkey 0x1 imm 0x1020304 len 0"}));
}

// 10.2.5. Expect: a Q_Key with the top bit set stands for the queue pair's own.
TEST(UdRequester, ControlledQKey) {
  Bench bench(datagram_options());
  bench.post_datagram(0, 0x80010000);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 from 0x11 qkey 0x11111111 len 0"}));
}

// Expect: each datagram goes to the address and the queue pair that it names.
TEST(UdRequester, ManyPeers) {
  Bench bench(datagram_options());
  for (uint8_t i = 0; i < 3; ++i) {
    sim::SendRequest request;
    request.datagram.flow = {bench.flow_from_peer().destination, bench.flow_from_peer().source};
    request.datagram.flow.destination.bytes[15] = static_cast<uint8_t>(i + 10);
    request.datagram.flow.source_port = static_cast<uint16_t>(0xc000 + i);
    request.datagram.qpn = Qpn{0x100U + i};
    bench.post(request);
  }
  TxBatch batch(TxBatch::Limits{});
  EXPECT_FALSE(bench.device.transmit(batch, bench.now, AckPolicy::kAll));
  ASSERT_EQ(batch.messages().size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    const TxBatch::Message& message = batch.messages()[i];
    EXPECT_EQ(message.flow.destination.bytes[15], i + 10);
    EXPECT_EQ(message.flow.source_port, 0xc000 + i);
    const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
    ASSERT_TRUE(view);
    EXPECT_EQ(view->headers.bth.dest_qp.value(), 0x100 + i);
  }
}

// Expect: a message of the port's MTU goes out; a longer one is refused and leads to SQE.
TEST(UdRequester, LongerThanThePortsMtu) {
  Bench bench(datagram_options());
  bench.post_datagram(4096);
  bench.post_datagram(4097);
  bench.post_datagram(1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 from 0x11 qkey 0x11111111 len 4096"}));
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_LOC_LEN_ERR}, {3, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_SQE);
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  bench.post_datagram(1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 from 0x11 qkey 0x11111111 len 1"}));
}

// Expect: a bad local key fails before anything goes out.
TEST(UdRequester, BadLocalKey) {
  Bench bench(datagram_options());
  sim::SendRequest bad;
  bad.sges = {bench.local(4), {0x1000, 8, LKey{0xdead}}};
  bench.post(bad);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
}

TEST(UdRequester, Inline) {
  Bench bench(datagram_options());
  sim::SendRequest request;
  request.flags = IBV_SEND_INLINE;
  request.inline_data = {9, 8, 7};
  request.datagram.flow = {bench.flow_from_peer().destination, bench.flow_from_peer().source};
  request.datagram.qpn = Qpn{Bench::kPeerQpn};
  bench.post(request);
  EXPECT_EQ(bench.sent().size(), 1U);
  EXPECT_EQ(bench.payloads()[0], (std::vector<uint8_t>{9, 8, 7}));
}

// --- The responder.

// UCX 1.11 to 1.18 takes the IP version from the low three bits of the service level, as ConnectX
// reports it, and drops what is not its own.
TEST(UdResponder, ServiceLevelTellsTheIpVersion) {
  Bench bench(datagram_options());
  bench.post_receive();
  bench.post_receive();
  Headers headers = Bench::deth();
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  bench.receive_raw(headers, bench.flow_from_peer(), {1});
  Flow ipv6;
  ipv6.source.bytes[0] = ipv6.destination.bytes[0] = 0xfe;
  ipv6.source.bytes[15] = 1;
  ipv6.destination.bytes[15] = 2;
  bench.receive_raw(headers, ipv6, {1});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 2U);
  EXPECT_EQ(wcs[0].sl, 2);
  EXPECT_EQ(wcs[1].sl, 1);
}

// Expect: GRH area and payload in the receive; the completion says who sent it.
TEST(UdResponder, Receives) {
  Bench bench(datagram_options());
  bench.post_receive();
  Headers headers = Bench::deth();
  headers.immediate_be = 0x11223344;
  bench.receive(Operation::kSendOnlyImm, 7, headers, {1, 2, 3});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(wcs[0].byte_len, kGrhBytes + 3);
  EXPECT_EQ(wcs[0].src_qp, Bench::kPeerQpn);
  EXPECT_EQ(wcs[0].qp_num, Bench::kQpn);
  EXPECT_EQ(wcs[0].imm_data, 0x11223344U);
  EXPECT_EQ(wcs[0].wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  const uint8_t* buffer = bench.memory.data() + Bench::kReceiveOffset;
  EXPECT_EQ(buffer[0], 0);
  EXPECT_EQ(buffer[20], 0x45);
  const std::vector<uint8_t> addresses(buffer + 32, buffer + 40);
  EXPECT_EQ(addresses, (std::vector<uint8_t>{192, 0, 2, 2, 192, 0, 2, 1}));
  EXPECT_EQ(buffer[40], 1);
  EXPECT_EQ(buffer[42], 3);
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: datagrams come in whatever order and from anybody.
TEST(UdResponder, AnyPsnFromAnybody) {
  Bench bench(datagram_options());
  bench.post_receive();
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 5, Bench::deth(), {1});
  Headers headers = Bench::deth();
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  headers.bth.psn = Psn{3};
  Flow stranger = bench.flow_from_peer();
  stranger.source.bytes[15] = 99;
  bench.receive_raw(headers, stranger, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 2U);
}

// Expect: a wrong Q_Key: dropped, counted, no receive used.
TEST(UdResponder, WrongQKey) {
  Bench bench(datagram_options());
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 0, Bench::deth(kQKey + 1), {1});
  EXPECT_EQ(bench.dropped(DropReason::kBadQKey), 1U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

TEST(UdResponder, WrongPKey) {
  Bench bench(datagram_options());
  bench.post_receive();
  Headers headers = Bench::deth();
  headers.bth.pkey = PKey{0x8001};
  bench.receive(Operation::kSendOnly, 0, headers, {1});
  EXPECT_EQ(bench.dropped(DropReason::kBadPKey), 1U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

TEST(UdResponder, NoReceive) {
  Bench bench(datagram_options());
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// Class D. Expect: the receive has to hold the GRH too, else it stays and the datagram is dropped.
TEST(UdResponder, TooLongForTheReceive) {
  Bench bench(datagram_options());
  bench.post_receive(kGrhBytes + 3);
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1, 2, 3, 4});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  bench.receive(Operation::kSendOnly, 1, Bench::deth(), {1, 2, 3});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: a datagram that is too long takes no shared receive away from others.
TEST(UdResponder, TooLongForTheReceiveTakesNoSharedOne) {
  BenchOptions options = datagram_options();
  options.shared_receives = true;
  Bench bench(options);
  bench.post_shared(kGrhBytes + 3);
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1, 2, 3, 4});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  EXPECT_EQ(bench.srq->waiting(), 1U);
  bench.receive(Operation::kSendOnly, 1, Bench::deth(), {1, 2, 3});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Class A. Expect: a receive with a bad local key fails, and the queue pair with it.
TEST(UdResponder, BadReceiveFails) {
  Bench bench(datagram_options());
  const Sge bad{0x1000, 64, LKey{0xdead}};
  ASSERT_TRUE(sim::post_receive(bench.device, *bench.qp, 1, {&bad, 1}));
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: in RTR datagrams are received, without an event: there is no connection.
TEST(UdResponder, ReceivesInRtr) {
  BenchOptions options = datagram_options();
  options.state = IBV_QPS_RTR;
  Bench bench(options);
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// 10.3.1. Expect: in RESET, INIT and ERR packets are dropped silently.
TEST(UdResponder, StatesThatDrop) {
  Bench bench(datagram_options());
  bench.move_to(IBV_QPS_ERR);
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  bench.move_to(IBV_QPS_RESET);
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.dropped(DropReason::kQpState), 2U);
}

// Expect: a queue pair may send to itself.
TEST(UdResponder, SelfSend) {
  Bench bench(datagram_options());
  bench.post_receive();
  sim::SendRequest request;
  request.sges = {bench.local(3)};
  request.datagram.flow = {bench.flow_from_peer().destination, bench.flow_from_peer().destination};
  request.datagram.qpn = Qpn{Bench::kQpn};
  request.datagram.qkey = QKey{kQKey};
  bench.post(request);
  TxBatch batch(TxBatch::Limits{});
  EXPECT_FALSE(bench.device.transmit(batch, bench.now, AckPolicy::kAll));
  const TxBatch::Message& message = batch.messages()[0];
  bench.device.receive({batch.bytes(message), message.flow, batch.identification(0)}, bench.now);
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].src_qp, Bench::kQpn);
  EXPECT_EQ(wcs[0].byte_len, kGrhBytes + 3);
}

// --- Objects.

// Expect: query answers the Q_Key and the type.
TEST(UdObjects, Query) {
  Bench bench(datagram_options());
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  bench.device.query_qp(*bench.qp, attr, init);
  EXPECT_EQ(attr.qkey, kQKey);
  EXPECT_EQ(init.qp_type, IBV_QPT_UD);
  attr.qkey = 5;
  EXPECT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_QKEY, bench.now));
  bench.device.query_qp(*bench.qp, attr, init);
  EXPECT_EQ(attr.qkey, 5U);
}

// Expect: types that verbs know and this device has not are unsupported; others are nonsense.
TEST(UdObjects, QueuePairTypes) {
  Bench bench(datagram_options());
  QpInit init;
  init.qpn = Qpn{0x50};
  init.pd = bench.pd;
  init.send_cq = bench.send_cq;
  init.recv_cq = bench.recv_cq;
  const auto try_type = [&](int type) {
    init.type = static_cast<ibv_qp_type>(type);
    const auto made = bench.device.create_qp(init);
    return made ? 0 : made.error().value;
  };
  EXPECT_EQ(try_type(IBV_QPT_DRIVER), EOPNOTSUPP);
  EXPECT_EQ(try_type(0), EINVAL);
  EXPECT_EQ(try_type(77), EINVAL);
}

// Expect: an address vector becomes the fields of the headers; the flow label the source port.
TEST(UdObjects, ResolvesAddresses) {
  Bench bench(datagram_options());
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.traffic_class = 0x20;
  address.grh.flow_label = 0x12345;
  std::memcpy(address.grh.dgid.raw, bench.flow_from_peer().source.bytes.data(), 16);
  const auto flow = bench.device.resolve(address);
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->source, bench.flow_from_peer().destination);
  EXPECT_EQ(flow->destination, bench.flow_from_peer().source);
  EXPECT_EQ(flow->traffic_class, 0x20);
  EXPECT_EQ(flow->hop_limit, 64);
  EXPECT_EQ(flow->source_port, ((0x12345 & 0x3fff) ^ (0x12345 >> 14)) | 0xc000);
  address.grh.sgid_index = 1;
  EXPECT_EQ(bench.device.resolve(address).error().value, EINVAL);
  address.grh.sgid_index = 0;
  address.is_global = 0;
  EXPECT_EQ(bench.device.resolve(address).error().value, EINVAL);
}

}  // namespace
}  // namespace urxe::test::ud_test
