// SPDX-License-Identifier: BSD-2-Clause
// From a peer that keeps requests, only the READ responses that are missing are requested again.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/bench.h"
#include "tests/transport/pair.h"

namespace urxe::test::read_gaps_test {
namespace {

constexpr Duration kRoundTrip = microseconds(100);

/// Its peer is known to keep requests; a round trip has been measured.
struct Keeping : Bench {
  Keeping() : Bench(patient()) {
    qp->path->set_keeps_what_follows(true);
    qp->path->on_round_trip(kRoundTrip);
  }
  static BenchOptions patient() {
    BenchOptions options;
    options.connect.timeout = 14;
    return options;
  }
  /// Posts a READ of so many responses, and sends its request.
  void read(uint32_t packets) {
    post(IBV_WR_RDMA_READ, packets * kMtu);
    sent();
  }
  /// The peer, which has seen this query, lacks no requests.
  void receive_report(uint8_t query) {
    Headers headers;
    headers.bth.opcode = kGapReportOpcode;
    headers.bth.dest_qp = Qpn(kQpn);
    headers.bth.psn = Psn(108);
    receive_raw(headers, flow_from_peer(), {0, 0, 0, 0, 0, 0, 0, query});
  }
  std::string first_sent() {
    const Lines lines = sent();
    return lines.empty() ? "nothing" : lines[0];
  }
  /// Its payload is its PSN, over and over.
  void respond(uint32_t psn, size_t bytes = kMtu) {
    receive(Operation::kReadResponseMiddle, psn, {},
            std::vector<uint8_t>(bytes, static_cast<uint8_t>(psn)));
  }
  void respond_all(uint32_t from, uint32_t to) {
    for (uint32_t psn = from; psn <= to; ++psn) respond(psn);
  }
};

std::string request(uint32_t psn, uint32_t offset, uint32_t packets) {
  return line("READ Request psn %u ack va 0x%x rkey 0x77 dma %u", psn, 0x5000 + offset * kMtu,
              packets * kMtu);
}

// Expect: the two that are missing are requested, once; when they come the READ is complete, with
// all data in place, and the peer was sent nothing else.
TEST(ReadGaps, OnlyTheGapIsRequested) {
  Keeping bench;
  bench.read(8);
  bench.respond(100);
  bench.respond(103);
  EXPECT_EQ(bench.sent(), (Lines{request(101, 1, 2), "GAP Query psn 1"}));
  bench.respond_all(104, 107);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond(101);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.respond(102);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), Lines{});
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(bench.memory[i * kMtu], 100 + i);
  EXPECT_EQ(bench.device.counters().held_responses, 5U);
  EXPECT_EQ(bench.device.counters().repairs, 1U);
}

// A READ must not return older data than one before it. Expect: all of a later READ is requested
// again, once, behind what is missing of the earlier one; and what comes of it before that is
// dropped.
TEST(ReadGaps, OverTheEndOfARead) {
  Keeping bench;
  bench.read(4);
  bench.read(4);
  bench.respond_all(100, 102);
  bench.respond(105);
  EXPECT_EQ(bench.sent(), (Lines{request(103, 3, 1), request(104, 0, 4), "GAP Query psn 1"}));
  bench.respond_all(106, 107);
  bench.respond(103);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond_all(105, 107);
  EXPECT_TRUE(bench.send_statuses().empty());
  bench.respond(104);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.device.counters().implied_naks, 1U) << "one loss";
}

// The same with one that has come as a whole, as the second of two small READs.
TEST(ReadGaps, AWholeReadBehindAGapIsReadAgain) {
  Keeping bench;
  bench.read(2);
  bench.read(1);
  bench.read(1);
  bench.respond(100);
  bench.respond_all(102, 103);
  EXPECT_EQ(bench.sent(),
            (Lines{request(101, 1, 1), request(102, 0, 1), request(103, 0, 1), "GAP Query psn 1"}));
  bench.respond(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond_all(102, 103);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
}

// The defect: the atomic's old value, which came last, overwrote what a later READ had brought to
// the same memory. Expect: the READ is requested again, behind the atomic.
TEST(ReadGaps, AReadBehindAMissingAtomicIsReadAgain) {
  Keeping bench;
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  const Lines atomic = bench.sent();
  bench.read(1);
  bench.respond(101);
  EXPECT_EQ(bench.sent(), (Lines{atomic[0], request(101, 0, 1), "GAP Query psn 1"}));
  Headers original;
  original.atomic_original = 0x1111111111111111;
  bench.receive(Operation::kAtomicAcknowledge, 100, original);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  bench.respond(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(bench.memory[i], 101) << i;
}

// Expect: each gap is requested when it is seen; the first, once it is closed, does not matter to
// the second.
TEST(ReadGaps, EachGapIsRequestedOnce) {
  Keeping bench;
  bench.read(8);
  bench.respond(101);
  EXPECT_EQ(bench.first_sent(), request(100, 0, 1));
  bench.respond(103);
  EXPECT_EQ(bench.first_sent(), request(102, 2, 1));
  bench.respond_all(104, 105);
  bench.respond(100);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond(107);
  EXPECT_EQ(bench.first_sent(), request(106, 6, 1));
  bench.respond(102);
  bench.respond(106);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: requests between two READs are no gap in their responses, and are complete as soon as the
// first READ is.
TEST(ReadGaps, WhatLiesBetweenIsAcknowledged) {
  Keeping bench;
  bench.read(3);
  bench.post(IBV_WR_RDMA_WRITE, 2 * kMtu);
  bench.post(IBV_WR_SEND, 0);
  bench.read(2);
  bench.respond(100);
  bench.respond(102);
  EXPECT_EQ(bench.first_sent(), request(101, 1, 1));
  bench.respond(106);
  EXPECT_EQ(bench.first_sent(), request(106, 0, 2));
  bench.respond(101);
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond_all(106, 107);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{4, IBV_WC_SUCCESS}}));
}

// Expect: an ACK behind the READ says that the rest of its responses is missing.
TEST(ReadGaps, AnAckShowsTheGap) {
  Keeping bench;
  bench.read(4);
  bench.post(IBV_WR_RDMA_WRITE, kMtu);
  bench.sent();
  bench.respond_all(100, 101);
  bench.receive_ack(104);
  EXPECT_EQ(bench.sent(), (Lines{request(102, 2, 2), "GAP Query psn 1"}));
  bench.respond_all(102, 103);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: a repair that is lost is repeated after a round trip, when more responses come.
TEST(ReadGaps, LostRepairIsRepeated) {
  Keeping bench;
  bench.read(8);
  bench.respond(101);
  bench.sent();
  bench.respond(102);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(kRoundTrip * 8);
  bench.respond(103);
  EXPECT_EQ(bench.first_sent(), request(100, 0, 1));
  EXPECT_EQ(bench.qp->requester.retries_left, 7U);
}

// Expect: the peer's report on what it has seen comes behind all that it owed; so a repair that was
// sent before that query is known to be lost.
TEST(ReadGaps, ReportTellsOfALostRepair) {
  Keeping bench;
  bench.read(8);
  bench.respond_all(102, 107);
  EXPECT_EQ(bench.sent(), (Lines{request(100, 0, 2), "GAP Query psn 1"}));
  bench.receive_report(0);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond(100);
  bench.receive_report(1);
  EXPECT_EQ(bench.sent(), (Lines{request(101, 1, 1), "GAP Query psn 2"}));
  bench.receive_report(1);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.respond(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: if nothing more comes it is repeated by the clock, for less than a retry, and then the
// timers of the specification end the connection with a peer that is gone.
TEST(ReadGaps, SilenceRepeatsTheRepair) {
  Keeping bench;
  bench.read(8);
  bench.respond_all(102, 107);
  bench.sent();
  for (int i = 0; i < 4; ++i) {
    bench.now = bench.device.next_deadline().value();
    EXPECT_EQ(bench.first_sent(), request(100, 0, 2));
  }
  EXPECT_EQ(bench.device.counters().ack_timeouts, 0U);
  while (const auto deadline = bench.device.next_deadline()) {
    bench.now = *deadline;
    bench.sent();
  }
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
}

// The peer drops what is requested again, since its memory is gone, and acknowledges the probes:
// the newest packet. Expect: that restores no retry; and reports do not have it requested for ever.
TEST(ReadGaps, PeerThatOnlyAcknowledges) {
  Keeping bench;
  bench.read(4);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.respond(101);
  bench.receive_ack(104);
  uint32_t requests = 0;
  for (int i = 0; i < 1000; ++i) {
    const Lines lines = bench.sent();
    requests += static_cast<uint32_t>(std::ranges::count(lines, request(100, 0, 1)));
    bench.receive_report(static_cast<uint8_t>(bench.qp->requester.gap_query));
    if (lines.empty()) break;
  }
  EXPECT_EQ(requests, 17U);
  for (int i = 0; i < 1000; ++i) {
    const auto deadline = bench.device.next_deadline();
    if (!deadline) break;
    bench.now = *deadline;
    bench.sent();
    bench.receive_ack(104);
  }
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
}

// Expect: what comes twice, or is no response to a READ, or has another length, is not put in
// place; the READ completes all the same.
TEST(ReadGaps, WrongAnswersBehindAGap) {
  Keeping bench;
  bench.read(4);
  bench.post(IBV_WR_RDMA_WRITE, kMtu);
  bench.sent();
  bench.respond(101);
  bench.respond(101);
  bench.respond(102, kMtu - 1);
  bench.respond(104);
  bench.receive(Operation::kAtomicAcknowledge, 102);
  bench.respond(9999);
  EXPECT_EQ(bench.device.counters().held_responses, 1U);
  bench.sent();
  bench.respond_all(100, 103);
  bench.receive_ack(104);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: the memory of a READ behind the gap is gone: its responses are not kept, and it fails in
// its turn.
TEST(ReadGaps, MemoryThatIsGone) {
  Keeping bench;
  bench.read(2);
  bench.read(2);
  ASSERT_TRUE(bench.device.deregister_memory(bench.local_region));
  bench.respond(102);
  EXPECT_EQ(bench.device.counters().held_responses, 0U);
  bench.sent();
  bench.respond(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
}

// Expect: the queue pair is as new after RESET.
TEST(ReadGaps, ResetForgetsWhatWasKept) {
  Keeping bench;
  bench.read(4);
  bench.respond_all(101, 103);
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  sim::ConnectOptions connect = Keeping::patient().connect;
  connect.destination = bench.flow_from_peer().source;
  connect.dest_qpn = Qpn(Bench::kPeerQpn);
  ASSERT_TRUE(sim::connect(bench.device, *bench.qp, connect, bench.now));
  bench.qp->path->set_keeps_what_follows(true);
  bench.read(4);
  bench.respond(100);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.respond_all(101, 103);
  EXPECT_EQ(bench.send_statuses().size(), 1U);
}

// Expect: a peer that is not known to keep requests is asked, and sends all again; if it answers,
// only the next gap is requested.
TEST(ReadGaps, PeerIsAsked) {
  Keeping bench;
  bench.qp->path->set_keeps_what_follows(false);
  bench.read(8);
  bench.respond(101);
  EXPECT_EQ(bench.sent(), (Lines{"GAP Query psn 1", request(100, 0, 8)}));
  bench.receive_report(1);
  bench.respond(100);
  bench.respond(102);
  EXPECT_EQ(bench.first_sent(), request(101, 1, 1));
}

/// READs of 256 KiB, four at a time, over a network of this loss; returns how long they take.
Duration read_over(double loss, uint64_t seed) {
  constexpr uint32_t kReads = 40;
  constexpr uint32_t kLength = 262144;
  PairOptions options;
  options.loss = loss;
  options.seed = seed;
  options.connect.timeout = 14;
  Pair pair(options);
  for (size_t i = 0; i < kLength; ++i) pair.remote[i] = static_cast<uint8_t>(i * 7 + i / 256);
  uint32_t posted = 0;
  const auto post = [&](uint32_t) {
    if (posted < kReads && pair.post(0, IBV_WR_RDMA_READ, kLength)) ++posted;
  };
  pair.on_completion = post;
  const Instant begin = pair.now();
  for (int i = 0; i < 4; ++i) post(0);
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() == kReads; }));
  EXPECT_EQ(pair.failed(), 0U);
  EXPECT_TRUE(std::equal(pair.local.begin(), pair.local.begin() + kLength, pair.remote.begin()));
  return pair.now() - begin;
}

// Expect: of a hundred packets three are lost, and READs take less than twice as long; of ten one,
// and all data comes.
TEST(ReadGaps, ThroughputUnderLoss) {
  const Duration without = read_over(0, 1);
  Duration with{};
  for (uint64_t seed = 1; seed <= 8; ++seed) with = with + read_over(0.03, seed);
  EXPECT_LT(with.ns / 8, without.ns * 2);
  for (uint64_t seed = 1; seed <= 4; ++seed) read_over(0.1, seed);
}

/// A response to a READ of many packets; its bytes tell the packet's place.
void receive_response(Bench& bench, uint32_t first_psn, uint32_t place, uint32_t packets) {
  const Operation part = place == 0             ? Operation::kReadResponseFirst
                         : place == packets - 1 ? Operation::kReadResponseLast
                                                : Operation::kReadResponseMiddle;
  bench.receive(part, first_psn + place, {},
                std::vector<uint8_t>(256, static_cast<uint8_t>(place)));
}

// A response further ahead than what is remembered of those that have come. Expect: it is not taken
// for the missing one that has its place there.
TEST(ReadGaps, AResponseFarAheadMakesNoHole) {
  constexpr uint32_t kPath = 256;
  constexpr uint32_t kPackets = 1400;
  BenchOptions options;
  options.connect.timeout = 20;
  options.connect.mtu = IBV_MTU_256;
  options.connect.max_rd_atomic = 16;
  options.socket_window = 64 << 20;
  Bench bench(options);
  std::vector<uint8_t> into(kPackets * kPath, 0xee);
  const auto start = reinterpret_cast<uint64_t>(into.data());
  const MemoryRegion& region = **bench.device.register_memory(bench.pd, into.data(), into.size(),
                                                              start, IBV_ACCESS_LOCAL_WRITE);
  sim::SendRequest read;
  read.opcode = IBV_WR_RDMA_READ;
  read.sges = {{start, 64 * kPath, region.lkey}};
  uint32_t psn = kSqPsn;
  // The window grows until all of the READ is asked for at once.
  for (int i = 0; i < 400; ++i) {
    bench.post(read);
    bench.sent();
    for (uint32_t place = 0; place < 64; ++place) receive_response(bench, psn, place, 64);
    psn += 64;
    bench.send_statuses();
  }
  std::ranges::fill(into, uint8_t{0xee});
  bench.qp->path->set_keeps_what_follows(true);
  read.sges[0].length = kPackets * kPath;
  bench.post(read);
  bench.sent();
  receive_response(bench, psn, 1 + 1024, kPackets);  // 1 is missing
  for (uint32_t place = 2; place < kPackets; ++place) {
    receive_response(bench, psn, place, kPackets);
  }
  receive_response(bench, psn, 0, kPackets);
  for (uint32_t place = 1024; place < kPackets; ++place) {
    receive_response(bench, psn, place, kPackets);
  }
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(into[kPath], 0xee);
}

}  // namespace
}  // namespace urxe::test::read_gaps_test
