// SPDX-License-Identifier: BSD-2-Clause
// Requests that the responder refuses (IBTA vol. 1, 9.7.4.1, 9.7.5.2, 9.9.3).
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <span>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "tests/transport/bench.h"

namespace urxe::test::responder_errors_test {
namespace {

const std::vector<uint8_t> kFull(kMtu, 1);

/// Expect: the NAK, the event, the Error state, the posted receive flushed (unless the request had
/// it fail), and silence to whatever follows.
void expect_refusal(Bench& bench, const char* nak, uint32_t psn,
                    const std::vector<ibv_event_type>& events) {
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(" msn")), line("ACK psn %u nak \"%s\"", psn, nak));
  EXPECT_EQ(bench.events(), events);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  bench.receive(Operation::kSendOnly, psn, {}, {1});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kQpState), 1U);
}

struct Case {
  const char* name;
  uint32_t psn;  ///< of the packet that is refused
  std::function<void(Bench&)> act;
};

Headers write_to(const Bench& bench, uint32_t length) {
  return bench.reth(Bench::kTargetVa, bench.target_region->rkey, length);
}

Headers atomic_at(const Bench& bench, uint64_t va) {
  Headers headers;
  headers.atomic = {va, bench.target_region->rkey, 1, 0};
  return headers;
}

constexpr uint64_t kOtherVa = 0x300000;

/// An atomic at the start of a region of its own.
void receive_atomic_in(Bench& bench, uint8_t* host, uint64_t va) {
  const MemoryRegion& region = **bench.device.register_memory(
      bench.pd, host, 64, va, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  Headers headers;
  headers.atomic = {va, region.rkey, 1, 0};
  bench.receive(Operation::kFetchAdd, 200, headers);
}

/// A packet of 8 bytes behind the BTH, with an opcode that has no headers of its own.
void receive_reserved(Bench& bench, uint8_t opcode, uint32_t psn,
                      const std::optional<Flow>& from = std::nullopt) {
  const Flow flow = from.value_or(bench.flow_from_peer());
  std::vector<uint8_t> bytes(kBthBytes + 8 + kIcrcBytes);
  bytes[0] = opcode;
  store_be16(&bytes[2], 0xffff);
  store_be24(&bytes[5], Bench::kQpn);
  store_be24(&bytes[9], psn);
  write_icrc(flow, 0, bytes);
  bench.device.receive(RxPacket{bytes, flow, uint16_t{0}}, bench.now);
}

// 9.7.4.1.2 (opcode sequence), 9.7.4.1.3 (opcodes).
const Case kInvalidRequests[] = {
    {"Middle without First", 200,
     [](Bench& b) { b.receive(Operation::kSendMiddle, 200, {}, kFull); }},
    {"Last without First", 200, [](Bench& b) { b.receive(Operation::kSendLast, 200, {}, {1}); }},
    {"WRITE Middle without First", 200,
     [](Bench& b) { b.receive(Operation::kWriteMiddle, 200, {}, kFull); }},
    {"Only inside a message", 201,
     [](Bench& b) {
       b.receive(Operation::kSendFirst, 200, {}, kFull);
       b.receive(Operation::kSendOnly, 201, {}, {1});
     }},
    {"READ inside a message", 201,
     [](Bench& b) {
       b.receive(Operation::kSendFirst, 200, {}, kFull);
       b.receive(Operation::kReadRequest, 201, write_to(b, 8));
     }},
    {"WRITE Middle inside a SEND", 201,
     [](Bench& b) {
       b.receive(Operation::kSendFirst, 200, {}, kFull);
       b.receive(Operation::kWriteMiddle, 201, {}, kFull);
     }},
    {"SEND Last inside a WRITE", 201,
     [](Bench& b) {
       b.receive(Operation::kWriteFirst, 200, write_to(b, kMtu + 1), kFull);
       b.receive(Operation::kSendLast, 201, {}, {1});
     }},
};

// 9.7.4.1.6 (lengths), 9.4.5 (alignment): invalid requests, too, but another event.
const Case kInvalidAccesses[] = {
    {"First shorter than the path MTU", 200,
     [](Bench& b) { b.receive(Operation::kSendFirst, 200, {}, std::vector<uint8_t>(kMtu - 1)); }},
    {"First longer than the path MTU", 200,
     [](Bench& b) { b.receive(Operation::kSendFirst, 200, {}, std::vector<uint8_t>(kMtu + 4)); }},
    {"Only longer than the path MTU", 200,
     [](Bench& b) { b.receive(Operation::kSendOnly, 200, {}, std::vector<uint8_t>(kMtu + 4)); }},
    {"Middle shorter than the path MTU", 201,
     [](Bench& b) {
       b.receive(Operation::kSendFirst, 200, {}, kFull);
       b.receive(Operation::kSendMiddle, 201, {}, {1});
     }},
    {"empty Last", 201,
     [](Bench& b) {
       b.receive(Operation::kSendFirst, 200, {}, kFull);
       b.receive(Operation::kSendLast, 201, {}, {});
     }},
    {"WRITE Only shorter than its RETH", 200,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200, write_to(b, 4), {1, 2, 3});
     }},
    {"WRITE Only longer than its RETH", 200,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200, write_to(b, 2), {1, 2, 3});
     }},
    {"WRITE Last beyond the RETH", 201,
     [](Bench& b) {
       b.receive(Operation::kWriteFirst, 200, write_to(b, kMtu + 1), kFull);
       b.receive(Operation::kWriteLast, 201, {}, {1, 2});
     }},
    {"WRITE Last short of the RETH", 201,
     [](Bench& b) {
       b.receive(Operation::kWriteFirst, 200, write_to(b, kMtu + 2), kFull);
       b.receive(Operation::kWriteLast, 201, {}, {1});
     }},
    {"WRITE Middle beyond the RETH", 201,
     [](Bench& b) {
       b.receive(Operation::kWriteFirst, 200, write_to(b, kMtu + 1), kFull);
       b.receive(Operation::kWriteMiddle, 201, {}, kFull);
     }},
    {"WRITE longer than 2 GiB", 200,
     [](Bench& b) { b.receive(Operation::kWriteFirst, 200, write_to(b, 0x80000001), kFull); }},
    {"READ longer than 2 GiB", 200,
     [](Bench& b) { b.receive(Operation::kReadRequest, 200, write_to(b, 0x80000001)); }},
    {"WRITE Middle that leaves nothing for the Last", 201,
     [](Bench& b) {
       b.receive(Operation::kWriteFirst, 200, write_to(b, 2 * kMtu), kFull);
       b.receive(Operation::kWriteMiddle, 201, {}, kFull);
     }},
    {"unaligned atomic", 200,
     [](Bench& b) { b.receive(Operation::kFetchAdd, 200, atomic_at(b, Bench::kTargetVa + 4)); }},
    {"atomic whose memory is not aligned", 200,
     [](Bench& b) { receive_atomic_in(b, b.target + 4, kOtherVa); }},
    {"atomic whose address alone is not aligned", 200,
     [](Bench& b) { receive_atomic_in(b, b.target, kOtherVa + 4); }},
};

void expect_all_refused(std::span<const Case> cases, ibv_event_type event) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Bench bench;
    bench.post_receive(4096);
    c.act(bench);
    expect_refusal(bench, "invalid request", c.psn, {event});
    EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  }
}

// A request is refused while the answer to a READ before it is still to go out, and then the READ's
// key is gone. Expect: the READ's NAK, and each event once.
TEST(ResponderErrors, ReadThatFailsAfterALaterRequest) {
  BenchOptions options;
  options.shared_receives = true;
  Bench bench(options);
  bench.receive(Operation::kReadRequest, 200, write_to(bench, 8));
  bench.receive(Operation::kWriteOnly, 201, bench.reth(Bench::kTargetVa, RKey{0xbad}, 1), {1});
  ASSERT_TRUE(bench.device.deregister_memory(bench.target_region));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(" msn")), "ACK psn 200 nak \"remote access error\"");
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_LAST_WQE_REACHED}));
}

// As above, but the READ was answered before, and is asked for again; the answer may have been
// lost. The defect: the peer, which waited for it, took the later request's NAK for a loss, asked
// once more, and got no answer from then on (RETRY_EXC). Expect: a NAK for the READ's last packet,
// then that of the refused request. Expect nothing if no other request was refused: the peer may
// have the answer, and the duplicate be one that the network has delayed.
TEST(ResponderErrors, DuplicateReadThatFailsAfterALaterRequest) {
  for (const bool refused : {true, false}) {
    Bench bench;
    bench.receive(Operation::kReadRequest, 200, write_to(bench, 2 * kMtu));
    EXPECT_EQ(bench.sent().size(), 2U);
    bench.receive(Operation::kReadRequest, 200, write_to(bench, 2 * kMtu));
    if (refused) {
      bench.receive(Operation::kWriteOnly, 202, bench.reth(Bench::kTargetVa, RKey{0xbad}, 1), {1});
    }
    ASSERT_TRUE(bench.device.deregister_memory(bench.target_region));
    EXPECT_EQ(bench.sent(), refused ? (Lines{"ACK psn 201 nak \"remote access error\" msn 1",
                                             "ACK psn 202 nak \"remote access error\" msn 1"})
                                    : Lines{});
  }
}

// 11.6.2: a WRITE with immediate to a bad key, or one that goes bad on the way. Expect: the receive
// that it took tells, and no event.
TEST(ResponderErrors, WriteWithImmediateToABadKey) {
  Bench only;
  only.post_receive();
  only.receive(Operation::kWriteOnlyImm, 200, only.reth(Bench::kTargetVa, RKey{0xbad}, 1), {1});
  expect_refusal(only, "remote access error", 200, {});
  EXPECT_EQ(only.receive_statuses(), (Statuses{{1, IBV_WC_LOC_ACCESS_ERR}}));

  Bench last;
  last.post_receive();
  last.post_receive();
  last.receive(Operation::kWriteFirst, 200, write_to(last, kMtu + 1), kFull);
  ASSERT_TRUE(last.device.deregister_memory(last.target_region));
  last.receive(Operation::kWriteLastImm, 201, {}, {1});
  expect_refusal(last, "remote access error", 201, {});
  EXPECT_EQ(last.receive_statuses(),
            (Statuses{{1, IBV_WC_LOC_ACCESS_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
}

TEST(ResponderErrors, InvalidRequests) {
  expect_all_refused(kInvalidRequests, IBV_EVENT_QP_REQ_ERR);
}

TEST(ResponderErrors, InvalidAccesses) {
  expect_all_refused(kInvalidAccesses, IBV_EVENT_QP_ACCESS_ERR);
}

// 9.7.4.1.3. The defect: such a packet was dropped, and the requester spent its retries.
TEST(ResponderErrors, ReservedOpcodes) {
  for (const uint8_t opcode : std::to_array<uint8_t>({0x15, 0x18, 0x1b, 0x1e, 0x1f})) {
    SCOPED_TRACE(unsigned{opcode});
    Bench bench;
    bench.post_receive();
    receive_reserved(bench, opcode, 200);
    expect_refusal(bench, "invalid request", 200, {IBV_EVENT_QP_REQ_ERR});
    EXPECT_EQ(bench.qp->error_cause.check, Check::kReservedOpcode);
    EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  }
}

// Expect: only the peer's packet whose turn it is ends the connection.
TEST(ResponderErrors, ReservedOpcodesThatAreDropped) {
  Bench bench;
  receive_reserved(bench, 0x1e, 199);
  receive_reserved(bench, 0x1e, 201);
  receive_reserved(bench, 0x3e, 200);  // of UC
  constexpr uint8_t kStranger[4] = {192, 0, 2, 77};
  Flow stranger = bench.flow_from_peer();
  stranger.source = Gid::from_ipv4(kStranger);
  receive_reserved(bench, 0x1e, 200, stranger);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.dropped(DropReason::kUnknownOpcode), 4U);
}

// 9.7.4.1 Expect: an operation that the queue pair does not enable is an invalid request.
TEST(ResponderErrors, OperationNotEnabled) {
  const struct {
    int access;
    Operation operation;
  } cases[] = {
      {IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, Operation::kWriteOnly},
      {IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC, Operation::kReadRequest},
      {IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, Operation::kFetchAdd},
      {IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, Operation::kCompareSwap},
  };
  for (const auto& c : cases) {
    BenchOptions options;
    options.connect.access = c.access;
    Bench bench(options);
    Headers headers = write_to(bench, 4);
    headers.atomic = {Bench::kTargetVa, bench.target_region->rkey, 1, 0};
    const std::vector<uint8_t> payload(c.operation == Operation::kWriteOnly ? 4U : 0U);
    bench.receive(c.operation, 200, headers, payload);
    expect_refusal(bench, "invalid request", 200, {IBV_EVENT_QP_REQ_ERR});
  }
}

// 9.7.4.1 Expect: without responder resources READs and atomics are invalid requests.
TEST(ResponderErrors, NoResponderResources) {
  for (const Operation operation : {Operation::kReadRequest, Operation::kFetchAdd}) {
    BenchOptions options;
    options.connect.max_dest_rd_atomic = 0;
    Bench bench(options);
    Headers headers = write_to(bench, 8);
    headers.atomic = {Bench::kTargetVa, bench.target_region->rkey, 1, 0};
    bench.receive(operation, 200, headers);
    expect_refusal(bench, "invalid request", 200, {IBV_EVENT_QP_ACCESS_ERR});
    EXPECT_EQ(bench.target[0], 0);
  }
}

// 9.7.4.1.5, 10.6 Expect: a wrong key, protection domain, bound or right is a remote access
// error, before any byte is written.
TEST(ResponderErrors, RemoteAccess) {
  const auto write = [](Bench& b, uint64_t va, RKey rkey, uint32_t length) {
    b.receive(Operation::kWriteOnly, 200, b.reth(va, rkey, length),
              std::vector<uint8_t>(length, 1));
  };
  const auto region_with = [](Bench& b, PdId pd, int access) {
    return b.device.register_memory(pd, b.target, 64, Bench::kTargetVa, access).value()->rkey;
  };
  const Case cases[] = {
      {"unknown key", 200, [&](Bench& b) { write(b, Bench::kTargetVa, RKey{0x12345678}, 4); }},
      {"key of another owner", 200,
       [&](Bench& b) { write(b, Bench::kTargetVa, RKey{b.target_region->rkey.value() ^ 1}, 4); }},
      {"key of a region that is gone", 200,
       [&](Bench& b) {
         const RKey rkey = b.target_region->rkey;
         EXPECT_TRUE(b.device.deregister_memory(b.target_region));
         write(b, Bench::kTargetVa, rkey, 4);
       }},
      {"before the region", 200,
       [&](Bench& b) { write(b, Bench::kTargetVa - 1, b.target_region->rkey, 4); }},
      {"beyond the region", 200,
       [&](Bench& b) { write(b, Bench::kTargetVa + 8189, b.target_region->rkey, 4); }},
      {"address that wraps", 200,
       [&](Bench& b) { write(b, UINT64_MAX - 1, b.target_region->rkey, 4); }},
      {"other protection domain", 200,
       [&](Bench& b) {
         const PdId other = b.device.alloc_pd().value();
         write(b, Bench::kTargetVa,
               region_with(b, other, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), 4);
       }},
      {"WRITE without the right", 200,
       [&](Bench& b) {
         write(b, Bench::kTargetVa, region_with(b, b.pd, IBV_ACCESS_REMOTE_READ), 4);
       }},
      {"WRITE to a local region", 200,
       [&](Bench& b) {
         write(b, reinterpret_cast<uint64_t>(b.memory.data()), b.local_region->rkey, 4);
       }},
      {"READ without the right", 200,
       [&](Bench& b) {
         const RKey rkey = region_with(b, b.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
         b.receive(Operation::kReadRequest, 200, b.reth(Bench::kTargetVa, rkey, 4));
       }},
      {"READ beyond the region", 200,
       [&](Bench& b) {
         b.receive(Operation::kReadRequest, 200,
                   b.reth(Bench::kTargetVa, b.target_region->rkey, 8193));
       }},
      {"atomic without the right", 200,
       [&](Bench& b) {
         Headers headers;
         headers.atomic = {Bench::kTargetVa,
                           region_with(b, b.pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                           1, 0};
         b.receive(Operation::kFetchAdd, 200, headers);
       }},
      {"atomic beyond the region", 200,
       [&](Bench& b) {
         b.receive(Operation::kFetchAdd, 200, atomic_at(b, Bench::kTargetVa + 8192));
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Bench bench;
    c.act(bench);
    expect_refusal(bench, "remote access error", 200, {IBV_EVENT_QP_ACCESS_ERR});
    EXPECT_EQ(bench.target[0], 0);
    EXPECT_EQ(bench.memory[0], 0);
    EXPECT_EQ(bench.memory[1], 1);
  }
}

// Expect: a long WRITE whose end is out of bounds is refused at its first packet.
TEST(ResponderErrors, BoundsOfTheWholeWriteAreCheckedFirst) {
  Bench bench;
  bench.receive(Operation::kWriteFirst, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8193), kFull);
  expect_refusal(bench, "remote access error", 200, {IBV_EVENT_QP_ACCESS_ERR});
  EXPECT_EQ(bench.target[0], 0);
}

// 9.9.3. Expect: a SEND longer than the receive: NAK invalid request, LOC_LEN_ERR, the rest
// flushed; the completion tells what an event would.
TEST(ResponderErrors, ReceiveTooSmall) {
  Bench bench;
  bench.post_receive(2);
  bench.post_receive(64);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive(Operation::kSendOnly, 200, {}, {1, 2, 3});
  expect_refusal(bench, "invalid request", 200, {});
  EXPECT_EQ(bench.receive_statuses(),
            (Statuses{{1, IBV_WC_LOC_LEN_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + 2], 2);
}

// 9.9.3. Expect: a receive with a bad local key: NAK remote operational error, LOC_PROT_ERR.
TEST(ResponderErrors, ReceiveWithBadKey) {
  Bench bench;
  Sge sge = bench.local(64);
  sge.lkey = LKey{0xbad};
  ASSERT_TRUE(sim::post_receive(bench.device, *bench.qp, 9, {&sge, 1}));
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  const Lines lines = bench.sent();
  EXPECT_EQ(lines, (Lines{"ACK psn 200 nak \"remote operational error\" msn 0"}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{9, IBV_WC_LOC_PROT_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// 9.7.4.1 Expect: one READ more than max_dest_rd_atomic: those before are answered, it is
// refused.
TEST(ResponderErrors, MoreReadsThanResources) {
  Bench bench;
  for (uint32_t i = 0; i < 5; ++i) {
    bench.receive(Operation::kReadRequest, 200 + i, write_to(bench, 8));
  }
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 5U);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(lines[i].find(line("READ Response Only psn %u", 200 + i)), 0U);
  }
  EXPECT_EQ(lines[4], "ACK psn 204 nak \"invalid request\" msn 4");
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: a request behind a gap is not looked at: no NAK but the one of the gap.
TEST(ResponderErrors, BadRequestsBehindAGapAreNotJudged) {
  Bench bench;
  bench.receive(Operation::kWriteOnly, 201, bench.reth(1, RKey{1}, 4), std::vector<uint8_t>(4));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 nak \"psn sequence error\" msn 0"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// 10.10.2.3. Expect: the peer hears of the SENDs whose receives have completed, and not of the one
// whose completion is lost.
TEST(ResponderErrors, CompletionQueueOverflow) {
  BenchOptions options;
  options.cq_entries = 2;
  Bench bench(options);
  for (int i = 0; i < 4; ++i) bench.post_receive();
  Headers headers;
  for (uint32_t psn = 200; psn < 204; ++psn) {
    headers.bth.ack_req = psn % 2 != 0;
    bench.receive(Operation::kSendOnly, psn, headers);
  }
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "ACK psn 201 credits 0 msn 2");
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: the failure of a request of this end does not take the peer's success away.
TEST(ResponderErrors, FailureOfAnOwnRequestLeavesAnAckOwed) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200);
  sim::SendRequest request;
  request.sges = {{bench.local(4).addr, 4, LKey{0xfffffe01}}};
  bench.post(request);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

}  // namespace
}  // namespace urxe::test::responder_errors_test
