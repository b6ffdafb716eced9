// SPDX-License-Identifier: BSD-2-Clause
// QP1: MADs of the connection manager as packets, and what requests tell it (IBTA vol. 1, 3.9.4,
// 9.6.1.1, 10.2.5, 12.9.8.7).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr ServiceId kService{0x01061234};
constexpr uint64_t kOneService = ~uint64_t{0};
constexpr CommId kPeerId{0x70000001};
constexpr uint8_t kLifetime = 16;
constexpr uint16_t kGsiPort = 0xd123;

struct SentPacket {
  Flow flow;
  Headers headers;
  std::vector<uint8_t> payload;
};

/// All that the device has to send; at most `packets_at_once` a batch.
std::vector<SentPacket> sent_packets(Bench& bench, size_t packets_at_once = 512) {
  std::vector<SentPacket> sent;
  TxBatch::Limits limits;
  limits.packets = packets_at_once;
  TxBatch batch(limits);
  for (bool more = true; more;) {
    batch.clear();
    more = bench.device.transmit(batch, bench.now, AckPolicy::kUrgentOnly);
    for (const TxBatch::Message& message : batch.messages()) {
      const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
      EXPECT_TRUE(view);
      if (view)
        sent.push_back({message.flow, view->headers, {view->payload.begin(), view->payload.end()}});
    }
  }
  return sent;
}

Flow flow_to_peer(const Bench& bench) {
  Flow flow;
  flow.source = bench.flow_from_peer().destination;
  flow.destination = bench.flow_from_peer().source;
  flow.hop_limit = 9;
  flow.traffic_class = 0x60;
  return flow;
}

CmReq request() {
  CmReq req;
  req.service_id = kService;
  req.local_qpn = Qpn(Bench::kPeerQpn);
  req.local_comm_id = kPeerId;
  req.local_ca_guid = 7;
  req.remote_cm_response_timeout = 18;
  req.local_cm_response_timeout = 18;
  req.max_cm_retries = 3;
  req.path_mtu = 3;
  return req;
}

Headers gsi_headers() {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = kGsiQpn;
  headers.deth = {kGsiQKey, kGsiQpn};
  return headers;
}

std::vector<uint8_t> mad_of(const CmBody& body) {
  const MadBytes mad = emit_cm_message({99, body});
  return {mad.begin(), mad.end()};
}

/// A device that listens, and a REQ on its way to it.
struct ListeningBench : Bench {
  explicit ListeningBench(const BenchOptions& options = {}) : Bench(options) {
    device.set_gsi_source_port(flow_from_peer().destination, kGsiPort);
    EXPECT_TRUE(device.cm().listen(kService, kOneService, std::nullopt));
  }
  void receive_request(const Headers& headers) {
    receive_raw(headers, flow_from_peer(), mad_of(request()));
  }
  void receive_request() { receive_request(gsi_headers()); }
  /// Expect: the packet was dropped, for that reason and no other.
  void expect_drop(DropReason reason) {
    EXPECT_EQ(dropped(reason), 1U);
    EXPECT_FALSE(device.cm().has_event());
    EXPECT_TRUE(sent_packets(*this).empty());
  }
};

// --- What goes out.

// Expect: UD SEND Only from QP1 to QP1 with its Q_Key, asking for an ACK as rxe's do; one PSN each;
// along the flow that the connection manager has named, from the port that QP1 was granted.
TEST(Gsi, SendsMads) {
  Bench bench;
  const Flow flow = flow_to_peer(bench);
  bench.device.set_gsi_source_port(flow.source, kGsiPort);
  ASSERT_TRUE(bench.device.cm().connect(request(), flow, kLifetime, bench.now));
  ASSERT_TRUE(bench.device.cm().connect(request(), flow, kLifetime, bench.now));
  const auto sent = sent_packets(bench);
  ASSERT_EQ(sent.size(), 2U);
  for (uint32_t i = 0; i < 2; ++i) {
    const Headers& headers = sent[i].headers;
    EXPECT_EQ(headers.bth.opcode, Opcode(Service::kUd, Operation::kSendOnly));
    EXPECT_EQ(headers.bth.dest_qp, kGsiQpn);
    EXPECT_EQ(headers.bth.psn, Psn(i));
    EXPECT_EQ(headers.bth.pkey, kDefaultPKey);
    EXPECT_TRUE(headers.bth.ack_req);
    EXPECT_EQ(headers.deth.qkey, kGsiQKey);
    EXPECT_EQ(headers.deth.source_qp, kGsiQpn);
    Flow expected = flow;
    expected.source_port = kGsiPort;
    EXPECT_EQ(sent[i].flow, expected);
    const auto message = parse_cm_message(sent[i].payload);
    ASSERT_TRUE(message);
    EXPECT_TRUE(std::holds_alternative<CmReq>(message->body));
  }
  EXPECT_EQ(bench.device.counters().sent_packets, 2U);
  EXPECT_EQ(bench.device.counters().sent_bytes, 2U * 280);
}

bool is_data(const SentPacket& packet) {
  return packet.headers.bth.dest_qp != kGsiQpn;
}

// Expect: the data of a queue pair before the MADs, and between two turns of the queue pairs only
// some of them.
TEST(Gsi, HoldsUpDataForFewMads) {
  Bench bench;
  const Flow flow = flow_to_peer(bench);
  constexpr size_t kMads = 200;
  for (size_t i = 0; i < kMads; ++i) {
    ASSERT_TRUE(bench.device.cm().connect(request(), flow, kLifetime, bench.now));
  }
  bench.post(IBV_WR_SEND, 8);
  TxBatch batch(TxBatch::Limits{});
  EXPECT_TRUE(bench.device.transmit(batch, bench.now, AckPolicy::kUrgentOnly));
  EXPECT_LE(batch.packets(), 33U);
  const auto first = batch.bytes(batch.messages()[0]);
  const auto view = parse({first, batch.messages()[0].flow, batch.identification(0)});
  ASSERT_TRUE(view);
  EXPECT_NE(view->headers.bth.dest_qp, kGsiQpn);
  EXPECT_EQ(sent_packets(bench).size(), kMads + 1 - batch.packets());
}

// Expect: data that fills every batch leaves QP1 a share, in every second batch at least.
TEST(Gsi, HoldsUpMadsForOneBatch) {
  Bench bench;
  const Flow flow = flow_to_peer(bench);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(bench.device.cm().connect(request(), flow, kLifetime, bench.now));
  }
  constexpr size_t kPackets = 16;
  bench.post(IBV_WR_RDMA_WRITE, kPackets * 1024);
  const auto sent = sent_packets(bench, 4);
  ASSERT_EQ(sent.size(), kPackets + 5);
  EXPECT_TRUE(std::all_of(sent.begin(), sent.begin() + 4, is_data));
  EXPECT_EQ(std::count_if(sent.begin() + 4, sent.begin() + 8, is_data), 0);
  EXPECT_TRUE(std::all_of(sent.begin() + 8, sent.begin() + 12, is_data));
  EXPECT_FALSE(is_data(sent[12]));
}

// Expect: what a batch has no room for comes with the next one; nothing is lost or sent twice.
TEST(Gsi, SendsOnWhereABatchWasFull) {
  Bench bench;
  const Flow flow = flow_to_peer(bench);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(bench.device.cm().connect(request(), flow, kLifetime, bench.now));
  }
  const auto sent = sent_packets(bench, 2);
  ASSERT_EQ(sent.size(), 5U);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(sent[i].headers.bth.psn, Psn(i));
    for (uint32_t k = 0; k < i; ++k) EXPECT_NE(sent[i].payload, sent[k].payload);
  }
}

// Expect: the device's deadline is the connection manager's, and advance() its time.
TEST(Gsi, RunsTheConnectionManagersTimers) {
  Bench bench;
  EXPECT_FALSE(bench.device.next_deadline());
  ASSERT_TRUE(bench.device.cm().connect(request(), flow_to_peer(bench), kLifetime, bench.now));
  EXPECT_EQ(sent_packets(bench).size(), 1U);
  const auto deadline = bench.device.next_deadline();
  ASSERT_TRUE(deadline);
  bench.now = *deadline;
  bench.device.advance(bench.now);
  EXPECT_EQ(sent_packets(bench).size(), 1U) << "the REQ again";
}

// Expect: as the connection manager's MADs, but to the queue pair that was named; the deadline is
// the agents', too.
TEST(Gsi, SendsAgentsMads) {
  Bench bench;
  constexpr MadAgentKey kKey{0x32, 1, 0x001405};
  const auto agent = bench.device.mads().add({kKey, {}});
  ASSERT_TRUE(agent);
  OutgoingMad mad{.flow = flow_to_peer(bench), .qpn = Qpn(0x1234)};
  write_mad_header({.management_class = 0x32, .class_version = 1, .method = 1}, mad.mad);
  ASSERT_TRUE(bench.device.mads().send(*agent, mad, {milliseconds(5)}, bench.now));
  const auto sent = sent_packets(bench);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].headers.bth.dest_qp, Qpn(0x1234));
  EXPECT_EQ(sent[0].headers.deth.qkey, kGsiQKey);
  EXPECT_EQ(sent[0].headers.deth.source_qp, kGsiQpn);
  EXPECT_EQ(sent[0].payload.size(), kMadBytes);
  EXPECT_EQ(bench.device.next_deadline(), bench.now + milliseconds(5));
  bench.device.advance(bench.now + milliseconds(5));
  const auto event = bench.device.mads().take_event(*agent);
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->timed_out);
}

// --- What comes in.

// Expect: an agent gets its class, with the sender's queue pair; the connection manager still gets
// its own.
TEST(Gsi, GivesAgentsTheirMads) {
  ListeningBench bench;
  const auto agent = bench.device.mads().add({{0x32, 1, 0}, {1 << 1, 0}});
  ASSERT_TRUE(agent);
  MadBytes mad{};
  write_mad_header({.management_class = 0x32, .class_version = 1, .method = 1}, mad);
  Headers headers = gsi_headers();
  headers.deth.source_qp = Qpn(0x777);
  bench.receive_raw(headers, bench.flow_from_peer(), {mad.begin(), mad.end()});
  EXPECT_TRUE(bench.device.mads().take_news());
  const auto event = bench.device.mads().take_event(*agent);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->remote_qpn, Qpn(0x777));
  EXPECT_EQ(event->flow.source, bench.flow_from_peer().source);
  bench.receive_request();
  EXPECT_TRUE(bench.device.cm().has_event());
  headers.deth.qkey = QKey(1);
  bench.receive_raw(headers, bench.flow_from_peer(), {mad.begin(), mad.end()});
  EXPECT_EQ(bench.dropped(DropReason::kBadQKey), 1U);
  EXPECT_FALSE(bench.device.mads().take_event(*agent));
}

// Expect: the MAD and the way that it came; the answer goes back.
TEST(Gsi, ReceivesMads) {
  ListeningBench bench;
  bench.receive_request();
  const auto event = bench.device.cm().take_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, CmEvent::Kind::kRequest);
  EXPECT_EQ(event->flow, bench.flow_from_peer());
  EXPECT_EQ(std::get<CmReq>(event->body).local_comm_id, kPeerId);
  ASSERT_TRUE(bench.device.cm().reject(event->id, CmRejectReason::kConsumer, {}, {}, bench.now));
  const auto sent = sent_packets(bench);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].flow.destination, bench.flow_from_peer().source);
  EXPECT_EQ(sent[0].flow.source_port, kGsiPort);
}

// Expect: QP1 is there without a queue pair, in a device that has none.
TEST(Gsi, NeedsNoQueuePair) {
  DeviceConfig config;
  const uint8_t address[4] = {192, 0, 2, 1};
  config.gids = {Gid::from_ipv4(address)};
  Device device(config);
  ASSERT_TRUE(device.cm().listen(kService, kOneService, std::nullopt));
  Bench peer;
  TxBatch batch(TxBatch::Limits{});
  const auto mad = mad_of(request());
  std::ranges::copy(mad, batch.append(peer.flow_from_peer(), gsi_headers(), mad.size()));
  batch.commit();
  const auto& message = batch.messages()[0];
  device.receive({batch.bytes(message), message.flow, batch.identification(0)}, peer.now);
  EXPECT_TRUE(device.cm().has_event());
}

// A limited member may talk to a full one (10.9.3).
TEST(Gsi, TakesALimitedMember) {
  ListeningBench bench;
  Headers headers = gsi_headers();
  headers.bth.pkey = PKey{0x7fff};
  bench.receive_request(headers);
  EXPECT_TRUE(bench.device.cm().has_event());
}

TEST(Gsi, DropsAWrongQKey) {
  ListeningBench bench;
  Headers headers = gsi_headers();
  headers.deth.qkey = QKey{kQKey};
  bench.receive_request(headers);
  bench.expect_drop(DropReason::kBadQKey);
}

TEST(Gsi, DropsAnotherPartition) {
  ListeningBench bench;
  Headers headers = gsi_headers();
  headers.bth.pkey = PKey{0x8001};
  bench.receive_request(headers);
  bench.expect_drop(DropReason::kBadPKey);
}

TEST(Gsi, DropsWhatIsNotAddressedToTheDevice) {
  ListeningBench bench;
  Flow flow = bench.flow_from_peer();
  flow.destination.bytes[15] = 77;
  bench.receive_raw(gsi_headers(), flow, mad_of(request()));
  bench.expect_drop(DropReason::kNoSuchGid);
}

// Expect: an empty entry of the GID table is no address.
TEST(Gsi, AnEmptyEntryIsNobodysAddress) {
  ListeningBench bench;
  const Gid gids[] = {bench.flow_from_peer().destination, Gid{}};
  bench.device.set_gids(gids);
  Flow flow = bench.flow_from_peer();
  flow.destination = Gid{};
  bench.receive_raw(gsi_headers(), flow, mad_of(request()));
  bench.expect_drop(DropReason::kNoSuchGid);
}

// Expect: QP1 takes UD SEND Only, nothing else.
TEST(Gsi, DropsOtherOpcodes) {
  const Opcode others[] = {
      Opcode(Service::kUd, Operation::kSendOnlyImm), Opcode(Service::kRc, Operation::kSendOnly),
      Opcode(Service::kUc, Operation::kSendOnly), Opcode(Service::kRc, Operation::kSendFirst)};
  for (const Opcode opcode : others) {
    ListeningBench bench;
    Headers headers = gsi_headers();
    headers.bth.opcode = opcode;
    bench.receive_request(headers);
    bench.expect_drop(DropReason::kWrongService);
  }
}

// Expect: what is no MAD is the connection manager's to drop.
TEST(Gsi, LeavesTheMadToTheConnectionManager) {
  ListeningBench bench;
  bench.receive_raw(gsi_headers(), bench.flow_from_peer(), std::vector<uint8_t>(255));
  EXPECT_FALSE(bench.device.cm().has_event());
  const auto& drops = bench.device.cm().counters().drops;
  EXPECT_EQ(drops[static_cast<size_t>(MadDropReason::kLength)], 1U);
}

// --- The first request stands for a lost RTU (12.9.8.7).

/// A device that has accepted a REQ with its queue pair and waits for the RTU.
struct AcceptedBench : ListeningBench {
  explicit AcceptedBench(const BenchOptions& options = {}) : ListeningBench(options) {
    receive_request();
    const auto event = device.cm().take_event();
    CmRep rep;
    rep.local_qpn = Qpn(kQpn);
    EXPECT_TRUE(event && device.cm().accept(event->id, rep, now));
    EXPECT_EQ(sent_packets(*this).size(), 1U) << "the REP";
    post_receive();
    post_receive();
  }
  /// Whether the connection manager says now that the connection is established.
  bool tells_established() {
    const auto event = device.cm().take_event();
    return event && event->kind == CmEvent::Kind::kEstablished;
  }
};

TEST(FirstRequest, EstablishesInRts) {
  AcceptedBench bench;
  bench.receive(Operation::kSendOnly, kRqPsn);
  EXPECT_TRUE(bench.tells_established());
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{}) << "COMM_EST is RTR's";
}

TEST(FirstRequest, EstablishesInRtr) {
  BenchOptions options;
  options.state = IBV_QPS_RTR;
  AcceptedBench bench(options);
  bench.receive(Operation::kSendOnly, kRqPsn);
  EXPECT_TRUE(bench.tells_established());
  EXPECT_EQ(bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_COMM_EST}));
  bench.receive(Operation::kSendOnly, kRqPsn + 1);
  EXPECT_FALSE(bench.tells_established());
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

TEST(FirstRequest, EstablishesOverUc) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  AcceptedBench bench(options);
  bench.receive(Operation::kSendOnly, kRqPsn);
  EXPECT_TRUE(bench.tells_established());
}

// Expect: a packet that has overtaken the first, or that an earlier connection has left behind,
// tells nothing.
TEST(FirstRequest, IsTheOneThatIsExpected) {
  AcceptedBench bench;
  bench.receive(Operation::kSendOnly, kRqPsn + 1);
  bench.receive(Operation::kSendOnly, kRqPsn - 5);
  EXPECT_FALSE(bench.tells_established());
  bench.receive(Operation::kSendOnly, kRqPsn);
  EXPECT_TRUE(bench.tells_established());
}

TEST(FirstRequest, OfAnotherQueuePairTellsNothing) {
  ListeningBench bench;
  bench.receive_request();
  const auto event = bench.device.cm().take_event();
  ASSERT_TRUE(event);
  CmRep rep;
  rep.local_qpn = Qpn(Bench::kQpn + 1);
  ASSERT_TRUE(bench.device.cm().accept(event->id, rep, bench.now));
  bench.post_receive();
  bench.receive(Operation::kSendOnly, kRqPsn);
  EXPECT_FALSE(bench.device.cm().has_event());
}

}  // namespace
}  // namespace urxe::test
