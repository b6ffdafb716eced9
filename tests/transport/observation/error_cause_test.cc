// SPDX-License-Identifier: BSD-2-Clause
// What a device notes of why a queue pair went to the error state.
#include "transport/observation/error_cause.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

const std::vector<uint8_t> kFullPayload(kMtu, 1);

ErrorCause cause_of(const Bench& bench) {
  return bench.device.report(0).value().cause;
}

struct RefusedRequest {
  const char* name;
  Check check;
  NakCode code;
  std::function<void(Bench&)> act;
};

void write_to(Bench& b, uint64_t va, RKey rkey, uint32_t length) {
  b.receive(Operation::kWriteOnly, 200, b.reth(va, rkey, length), std::vector<uint8_t>(length, 1));
}

RKey region_with(Bench& b, PdId pd, int access) {
  return b.device.register_memory(pd, b.target, 64, Bench::kTargetVa, access).value()->rkey;
}

RKey fresh_window(Bench& b) {
  return b.device.alloc_window(b.pd, IBV_MW_TYPE_2).value()->rkey;
}

void fetch_add(Bench& b, uint64_t va) {
  Headers headers;
  headers.atomic = {va, b.target_region->rkey, 1, 0};
  b.receive(Operation::kFetchAdd, 200, headers);
}

const RefusedRequest kRefused[] = {
    {"Middle without First", Check::kOpcodeSequence, NakCode::kInvalidRequest,
     [](Bench& b) { b.receive(Operation::kSendMiddle, 200, {}, kFullPayload); }},
    {"First shorter than the path MTU", Check::kPayloadLength, NakCode::kInvalidRequest,
     [](Bench& b) {
       b.post_receive();
       b.receive(Operation::kSendFirst, 200, {}, {1});
     }},
    {"WRITE Only shorter than its RETH", Check::kMessageLength, NakCode::kInvalidRequest,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200, b.reth(Bench::kTargetVa, b.target_region->rkey, 4),
                 {1});
     }},
    {"unaligned atomic", Check::kAlignment, NakCode::kInvalidRequest,
     [](Bench& b) { fetch_add(b, Bench::kTargetVa + 4); }},
    {"SEND longer than the receive", Check::kReceiveLength, NakCode::kInvalidRequest,
     [](Bench& b) {
       b.post_receive(2);
       b.receive(Operation::kSendOnly, 200, {}, {1, 2, 3});
     }},
    {"unknown key", Check::kUnknownKey, NakCode::kRemoteAccessError,
     [](Bench& b) { write_to(b, Bench::kTargetVa, RKey{0x12345678}, 4); }},
    {"beyond the region", Check::kBounds, NakCode::kRemoteAccessError,
     [](Bench& b) { write_to(b, Bench::kTargetVa + 8189, b.target_region->rkey, 4); }},
    {"other protection domain", Check::kOtherDomain, NakCode::kRemoteAccessError,
     [](Bench& b) {
       const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
       write_to(b, Bench::kTargetVa, region_with(b, b.device.alloc_pd().value(), access), 4);
     }},
    {"WRITE without the right", Check::kRights, NakCode::kRemoteAccessError,
     [](Bench& b) {
       write_to(b, Bench::kTargetVa, region_with(b, b.pd, IBV_ACCESS_REMOTE_READ), 4);
     }},
    {"window that is not bound", Check::kNotBound, NakCode::kRemoteAccessError,
     [](Bench& b) { write_to(b, Bench::kTargetVa, fresh_window(b), 4); }},
    {"atomic beyond the region", Check::kBounds, NakCode::kRemoteAccessError,
     [](Bench& b) { fetch_add(b, Bench::kTargetVa + 8192); }},
};

TEST(ErrorCause, ChecksOfTheResponder) {
  for (const RefusedRequest& c : kRefused) {
    SCOPED_TRACE(c.name);
    Bench bench;
    c.act(bench);
    const ErrorCause cause = cause_of(bench);
    EXPECT_EQ(cause.reason, ErrorReason::kRefusedRequest);
    EXPECT_EQ(cause.check, c.check);
    EXPECT_EQ(cause.syndrome, nak_syndrome(c.code));
    EXPECT_EQ(cause.psn, Psn(200));
    EXPECT_NE(cause.opcode, ErrorCause::kNoOpcode);
  }
}

TEST(ErrorCause, NamesTheRange) {
  Bench bench;
  write_to(bench, Bench::kTargetVa + 8189, bench.target_region->rkey, 4);
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.key, bench.target_region->rkey.value());
  EXPECT_EQ(cause.address, Bench::kTargetVa + 8189);
  EXPECT_EQ(cause.length, 4U);
}

TEST(ErrorCause, OperationNotEnabled) {
  BenchOptions options;
  options.connect.access = IBV_ACCESS_REMOTE_READ;
  Bench bench(options);
  write_to(bench, Bench::kTargetVa, bench.target_region->rkey, 4);
  EXPECT_EQ(cause_of(bench).check, Check::kOperation);
}

TEST(ErrorCause, TooManyReads) {
  BenchOptions options;
  options.connect.max_dest_rd_atomic = 0;
  Bench read(options);
  read.receive(Operation::kReadRequest, 200,
               read.reth(Bench::kTargetVa, read.target_region->rkey, 8));
  EXPECT_EQ(cause_of(read).check, Check::kTooManyReads);
  Bench atomic(options);
  fetch_add(atomic, Bench::kTargetVa);
  EXPECT_EQ(cause_of(atomic).check, Check::kTooManyReads);
}

/// The key is gone when the READ's turn comes to be answered.
TEST(ErrorCause, ReadThatIsRefusedLate) {
  Bench bench;
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kReadRequest, 200, bench.reth(Bench::kTargetVa, rkey, 8));
  ASSERT_TRUE(bench.device.deregister_memory(bench.target_region));
  bench.sent();
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kRefusedRequest);
  EXPECT_EQ(cause.check, Check::kUnknownKey);
  EXPECT_EQ(cause.key, rkey.value());
}

TEST(ErrorCause, ReceiveWithABadKey) {
  Bench bench;
  Sge sge = bench.local(64);
  sge.lkey = LKey{0xbad};
  ASSERT_TRUE(sim::post_receive(bench.device, *bench.qp, 9, {&sge, 1}));
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kLocalReceive);
  EXPECT_EQ(cause.check, Check::kUnknownKey);
  EXPECT_EQ(cause.key, 0xbadU);
  EXPECT_EQ(cause.wr_id, 9U);
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_LOC_PROT_ERR));
}

TEST(ErrorCause, Nak) {
  Bench bench;
  bench.post(IBV_WR_RDMA_WRITE, 4);
  bench.post(IBV_WR_RDMA_WRITE, 4);
  bench.sent();
  bench.receive_nak(101, NakCode::kRemoteAccessError);
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kNak);
  EXPECT_EQ(cause.syndrome, nak_syndrome(NakCode::kRemoteAccessError));
  EXPECT_EQ(cause.psn, Psn(101));
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_REM_ACCESS_ERR));
  EXPECT_EQ(cause.work_request, static_cast<uint32_t>(IBV_WR_RDMA_WRITE));
  EXPECT_EQ(cause.wr_id, 2U);
}

/// Posts a SEND that is never answered, and lets the time pass until the queue pair has failed.
void fail_by_silence(Bench& bench) {
  bench.post(IBV_WR_SEND, 0);
  while (bench.qp->state() == IBV_QPS_RTS) {
    bench.sent();
    if (const auto next = bench.device.next_deadline()) bench.now = *next;
  }
}

TEST(ErrorCause, Silence) {
  Bench bench;
  fail_by_silence(bench);
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kNoAnswer);
  EXPECT_EQ(cause.psn, Psn(100));
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_RETRY_EXC_ERR));
  EXPECT_EQ(cause.retries, bench.qp->attr.retry_cnt);
}

// A timeout of 67 ms costs no retry for four seconds.
TEST(ErrorCause, SilenceOnACrowdedHost) {
  BenchOptions options;
  options.connect.timeout = 14;
  Bench bench(options);
  bench.device.set_host_is_crowded(true);
  fail_by_silence(bench);
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kNoAnswer);
  EXPECT_EQ(cause.retries, bench.qp->attr.retry_cnt);
  EXPECT_EQ(cause.free_timeouts, 14);
}

TEST(ErrorCause, PacketsLostAgainAndAgain) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kLostTooOften);
}

TEST(ErrorCause, ReceiverNotReady) {
  BenchOptions options;
  options.connect.rnr_retry = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, rnr_syndrome(12));
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kReceiverNotReady);
  EXPECT_EQ(cause.syndrome, rnr_syndrome(12));
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_RNR_RETRY_EXC_ERR));
}

TEST(ErrorCause, BadResponse) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.sent();
  bench.receive(Operation::kReadResponseOnly, 100, {}, {1, 2});
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kBadResponse);
  EXPECT_EQ(Opcode(cause.opcode).operation(), Operation::kReadResponseOnly);
}

TEST(ErrorCause, ReservedSyndrome) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, 0x40);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kReservedSyndrome);
  EXPECT_EQ(cause_of(bench).syndrome, 0x40);
}

TEST(ErrorCause, SendWithABadKey) {
  Bench bench;
  sim::SendRequest request;
  request.opcode = IBV_WR_SEND;
  Sge sge = bench.local(8);
  sge.lkey = LKey{0xbad};
  request.sges = {sge};
  bench.post(request);
  bench.sent();
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.reason, ErrorReason::kLocalSend);
  EXPECT_EQ(cause.check, Check::kUnknownKey);
  EXPECT_EQ(cause.key, 0xbadU);
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_LOC_PROT_ERR));
}

TEST(ErrorCause, TheApplicationsWill) {
  Bench bench;
  ASSERT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kByApplication);
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kNone);
  EXPECT_EQ(bench.device.report(0).value().last_error.reason, ErrorReason::kNone);
}

TEST(ErrorCause, TheFirstOneCounts) {
  Bench bench;
  write_to(bench, Bench::kTargetVa, RKey{0x12345678}, 4);
  ASSERT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kRefusedRequest);
}

TEST(ErrorCause, CompletionLost) {
  BenchOptions options;
  options.cq_entries = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(101);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kCompletionLost);
}

TEST(ErrorCause, ReceiveThatIsTooShort) {
  Bench bench;
  bench.post_receive(2);
  bench.receive(Operation::kSendOnly, 200, {}, {1, 2, 3});
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.check, Check::kReceiveLength);
  EXPECT_EQ(cause.wr_id, 1U);
  EXPECT_EQ(cause.status, static_cast<uint32_t>(IBV_WC_LOC_LEN_ERR));
}

TEST(ErrorCause, TellsWhenAndWithWhom) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.pass(microseconds(7));
  bench.receive_nak(100, NakCode::kInvalidRequest);
  const ErrorCause cause = cause_of(bench);
  EXPECT_EQ(cause.at, bench.now);
  EXPECT_EQ(cause.timeout, kTimeout);
  EXPECT_EQ(cause.remote, bench.qp->flow().destination);
  EXPECT_EQ(cause.dest_qpn, Bench::kPeerQpn);
}

/// RESET ends the state, but not what is known of it.
TEST(ErrorCause, TheLastOneIsKept) {
  Bench bench;
  write_to(bench, Bench::kTargetVa, RKey{0x12345678}, 4);
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  const QpReport report = bench.device.report(0).value();
  EXPECT_EQ(report.cause.reason, ErrorReason::kNone);
  EXPECT_EQ(report.last_error.check, Check::kUnknownKey);
  EXPECT_EQ(report.last_error.dest_qpn, Bench::kPeerQpn);
}

TEST(ErrorCause, TheLastOneOfSqe) {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  Bench bench(options);
  bench.post_datagram(0);
  sim::SendRequest request;
  request.opcode = IBV_WR_SEND;
  Sge sge = bench.local(8);
  sge.lkey = LKey{0xbad};
  request.sges = {sge};
  bench.post(request);
  bench.sent();
  ASSERT_EQ(bench.qp->state(), IBV_QPS_SQE);
  EXPECT_EQ(cause_of(bench).at, bench.now);
  ASSERT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kNone);
  EXPECT_EQ(bench.device.report(0).value().last_error.reason, ErrorReason::kLocalSend);
}

TEST(ErrorCause, DeviceGone) {
  Bench bench;
  bench.device.fail_queue_pairs(bench.now);
  EXPECT_EQ(cause_of(bench).reason, ErrorReason::kDeviceGone);
}

}  // namespace
}  // namespace urxe::test
