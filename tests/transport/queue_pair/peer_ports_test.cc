// SPDX-License-Identifier: BSD-2-Clause
// Packets from the peer's address, but from another port: a stranger's, or a NIC's (peer_ports.h).
#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr uint16_t kPeerPort = 0xc001;
constexpr uint16_t kOtherPort = 0xd002;

/// PSN 200 comes next. Two SENDs, 100 and 101, are outstanding.
struct PortBench : Bench {
  explicit PortBench(bool peer_on_this_host, const BenchOptions& options = {}) : Bench(options) {
    if (peer_on_this_host) {
      const Gid gids[] = {flow_from_peer().destination, flow_from_peer().source};
      device.set_gids(gids);
    }
    post(IBV_WR_SEND, 0);
    post(IBV_WR_SEND, 0);
    sent();
    post_receive();
    post_receive();
  }

  void receive_from(uint16_t port, Operation operation, uint32_t psn, uint8_t syndrome = kAck) {
    Headers headers;
    headers.bth.opcode = Opcode(qp->service, operation);
    headers.bth.dest_qp = Qpn{kQpn};
    headers.bth.psn = Psn{psn};
    headers.bth.ack_req = true;
    headers.aeth.syndrome = syndrome;
    receive_raw(headers, from(port), {});
  }
  void receive_cnp(const Flow& flow) {
    Headers headers;
    headers.bth.opcode = kCnpOpcode;
    headers.bth.dest_qp = Qpn{kQpn};
    receive_raw(headers, flow, std::vector<uint8_t>(16));
  }
  [[nodiscard]] Flow from(uint16_t port) const {
    Flow flow = flow_from_peer();
    flow.source_port = port;
    return flow;
  }
  [[nodiscard]] uint64_t strangers() const { return dropped(DropReason::kWrongPeer); }
};

constexpr uint8_t kFatal = nak_syndrome(NakCode::kRemoteAccessError);

// The defect: a local user's socket tries NAKs with all PSNs. Expect: the connection goes on.
TEST(PeerPorts, ForgedNaksOfThisHost) {
  PortBench bench(true);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  for (uint32_t psn = 0; psn < 300; ++psn) {
    bench.receive_from(kOtherPort, Operation::kAcknowledge, psn, kFatal);
  }
  EXPECT_EQ(bench.strangers(), 300U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// The peer has an address of another interface of this host. Expect: the same.
TEST(PeerPorts, ForgedNaksOfAnotherInterface) {
  PortBench bench(false);
  bench.device.set_source_port(*bench.qp, kPeerPort, PeerHost::kThis);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 101, kFatal);
  EXPECT_EQ(bench.strangers(), 1U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// The same of requests, which could have a wrong key. Expect: neither executed nor answered.
TEST(PeerPorts, ForgedRequestsOfThisHost) {
  PortBench bench(true);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  EXPECT_EQ(bench.sent().size(), 1U);
  for (uint32_t psn = 190; psn < 210; ++psn) {
    bench.receive_from(kOtherPort, Operation::kReadRequest, psn);
  }
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.strangers(), 20U);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// PSNs far off from another host. Expect: some are ignored, then the ports that are known remain.
TEST(PeerPorts, ScanFromAnotherHost) {
  PortBench bench(false);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  for (uint32_t psn = 0x400000; psn < 0x400040; ++psn) {
    bench.receive_from(kOtherPort, Operation::kAcknowledge, psn, kFatal);
  }
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 101, kFatal);
  EXPECT_EQ(bench.strangers(), 65U);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: a peer whose requester and responder use two ports keeps both, wherever it is.
TEST(PeerPorts, OneForRequestsOneForResponses) {
  for (const bool on_this_host : {true, false}) {
    PortBench bench(on_this_host);
    bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
    bench.receive_from(kOtherPort, Operation::kAcknowledge, 100);
    bench.receive_from(kPeerPort, Operation::kSendOnly, 201);
    bench.receive_from(kOtherPort, Operation::kAcknowledge, 101);
    bench.receive_from(kOtherPort, Operation::kAcknowledge, 101);  // repeated
    EXPECT_EQ(bench.strangers(), 0U);
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
    EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  }
}

// Expect: a NIC that has changed its port is answered even if its first packet is a duplicate, or
// comes after a lost one; and one port after the other is taken.
TEST(PeerPorts, NicThatChangesItsPort) {
  PortBench bench(false);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 1"}));
  bench.receive_from(kOtherPort, Operation::kSendOnly, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 1"}));
  bench.receive_from(kOtherPort + 1, Operation::kSendOnly, 202);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 nak \"psn sequence error\" msn 1"}));
  uint32_t psn = 201;
  for (uint16_t port = kOtherPort; port < kOtherPort + 20; ++port) {
    bench.post_receive();
    bench.receive_from(port, Operation::kSendOnly, psn++);
    EXPECT_EQ(bench.sent().size(), 1U) << port;
  }
  EXPECT_EQ(bench.strangers(), 0U);
}

// The defect: a request of a stranger that was behind a gap was kept, and executed when the peer's
// requests before it had come. Expect: only those of the peer's ports are kept.
TEST(PeerPorts, WhatAStrangerSendsAheadIsNotKept) {
  BenchOptions options;
  options.keeps_requests = true;
  PortBench bench(false, options);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  bench.receive_from(kOtherPort, Operation::kSendOnly, 202);
  EXPECT_EQ(bench.device.counters().held_requests, 0U);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 203);
  EXPECT_EQ(bench.device.counters().held_requests, 1U);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}))
      << "the stranger's is the third";
}

// UC executes what comes behind lost packets. Expect: a stranger must come near the PSN.
TEST(PeerPorts, UcTakesNearPsnsOnly) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  PortBench bench(false, options);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  for (const uint32_t psn : {201U + 1025U, (201U - 1025U) & Psn::kMask}) {
    bench.receive_from(kOtherPort, Operation::kSendOnly, psn);
  }
  EXPECT_EQ(bench.strangers(), 2U);
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201 + 1024);
  EXPECT_EQ(bench.strangers(), 2U) << "a NIC with another port, behind losses";
}

// The defect: a stranger on this host who knew the PSN, which many programs do not draw at random,
// wrote into an idle connection. Expect: a process keeps its port, so no other one's is let in.
TEST(PeerPorts, StrangerOfThisHostWhoKnowsThePsn) {
  PortBench bench(true);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.strangers(), 1U);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 101, kFatal);
  EXPECT_EQ(bench.strangers(), 2U);
  bench.pass(seconds(2));
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201);
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 101, kFatal);
  EXPECT_EQ(bench.strangers(), 4U);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 201);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: while no port is known, garbage shuts nobody out.
TEST(PeerPorts, GuessesBeforeTheFirstPacket) {
  PortBench bench(true);
  for (uint32_t psn = 300; psn < 310; ++psn) {
    bench.receive_from(kOtherPort, Operation::kAcknowledge, psn, kFatal);
  }
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: a reset forgets the ports: the next peer has others.
TEST(PeerPorts, ResetForgets) {
  PortBench bench(true);
  bench.receive_from(kPeerPort, Operation::kAcknowledge, 101);
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 0x400000);
  EXPECT_EQ(bench.strangers(), 1U);
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  sim::ConnectOptions connect;
  connect.destination = bench.flow_from_peer().source;
  connect.dest_qpn = Qpn{Bench::kPeerQpn};
  connect.rq_psn = 500;
  ASSERT_TRUE(sim::connect(bench.device, *bench.qp, connect, bench.now));
  bench.post_receive();
  bench.receive_from(kOtherPort, Operation::kSendOnly, 500);
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

// The defect: one wrong guess of a stranger shut a connection's other ports out for good. Expect:
// a peer that changes its port later is heard, when a second has passed since the last guess; also
// a peer of this host whose responder has a port of its own.
TEST(PeerPorts, ShutPortsAreTriedOnceASecond) {
  PortBench here(true);
  here.receive_from(kPeerPort, Operation::kSendOnly, 200);
  here.receive_from(kOtherPort, Operation::kAcknowledge, 0x400000, kFatal);
  here.receive_from(kOtherPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(here.strangers(), 2U) << "too soon";
  here.pass(seconds(1));
  here.receive_from(kOtherPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(here.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  PortBench bench(false);
  bench.receive_from(kPeerPort, Operation::kSendOnly, 200);
  for (uint32_t psn = 0x400000; psn < 0x400010; ++psn) {
    bench.receive_from(kOtherPort, Operation::kAcknowledge, psn, kFatal);
  }
  bench.pass(milliseconds(999));
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.strangers(), 17U) << "too soon";
  bench.pass(milliseconds(1));
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 0x400000, kFatal);
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.strangers(), 19U) << "the guess of this second was another one";
  bench.pass(seconds(1));
  bench.receive_from(kOtherPort, Operation::kSendOnly, 201);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  bench.receive_from(kOtherPort, Operation::kAcknowledge, 101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.strangers(), 19U);
}

// Congestion notifications: expect that only the peer's slow a connection down.
TEST(PeerPorts, CongestionNotifications) {
  const auto halvings = [](const PortBench& bench) {
    return bench.device.counters().congestion_backoffs;
  };
  PortBench here(true);
  here.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  here.receive_cnp(here.from(kOtherPort));
  EXPECT_EQ(halvings(here), 0U);
  EXPECT_EQ(here.strangers(), 1U);
  here.receive_cnp(here.from(kPeerPort));
  EXPECT_EQ(halvings(here), 1U);

  PortBench elsewhere(false);
  elsewhere.receive_from(kPeerPort, Operation::kAcknowledge, 100);
  Flow stranger = elsewhere.from(kPeerPort);
  stranger.source.bytes[15] ^= 1;
  elsewhere.receive_cnp(stranger);
  EXPECT_EQ(halvings(elsewhere), 0U);
  elsewhere.receive_cnp(elsewhere.from(kOtherPort));  // a NIC may have a port for them
  EXPECT_EQ(halvings(elsewhere), 1U);
  EXPECT_EQ(elsewhere.device.counters().cnps_handled, 1U);
}

}  // namespace
}  // namespace urxe::test
