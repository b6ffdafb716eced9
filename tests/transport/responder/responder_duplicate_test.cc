// SPDX-License-Identifier: BSD-2-Clause
// Requests that come twice (IBTA vol. 1, 9.7.5.1.4, 9.7.5.1.5).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/bench.h"

namespace urxe::test::responder_duplicate_test {
namespace {

Headers with_ack_req() {
  Headers headers;
  headers.bth.ack_req = true;
  return headers;
}

Headers read_of(const Bench& bench, uint64_t offset, uint32_t length) {
  return bench.reth(Bench::kTargetVa + offset, bench.target_region->rkey, length);
}

Headers fetch_add(const Bench& bench, uint64_t add) {
  Headers headers = with_ack_req();
  headers.atomic = {Bench::kTargetVa, bench.target_region->rkey, add, 0};
  return headers;
}

/// What a line says up to its AETH.
std::string head(const std::string& text) {
  return text.substr(0, std::min(text.find(" credits"), text.find(" msn")));
}

// Expect: acknowledged again with the latest state; no receive is taken, nothing is written.
TEST(Duplicates, SendIsAcknowledgedAgain) {
  Bench bench;
  bench.post_receive();
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req(), {1});
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.memory[Bench::kReceiveOffset] = 99;
  bench.receive(Operation::kSendOnly, 200, with_ack_req(), {1});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 1"}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset], 99);
  EXPECT_EQ(bench.device.counters().duplicate_requests, 1U);
}

// Expect: the ACK names the last packet received in order, not the duplicate.
TEST(Duplicates, AckNamesTheLatest) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post_receive();
  for (uint32_t i = 0; i < 3; ++i) bench.receive(Operation::kSendOnly, 200 + i, with_ack_req());
  bench.sent();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 credits 0 msn 3"}));
}

// An ACK that names an atomic completes it at soft-RoCE, which has then no value to return.
// Expect: it names the last SEND or WRITE; what comes behind that answers for itself.
TEST(Duplicates, AckDoesNotNameAnAtomicOrARead) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.receive(Operation::kReadRequest, 201, read_of(bench, 0, 2 * kMtu));
  bench.receive(Operation::kFetchAdd, 203, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 3"}));
  bench.receive(Operation::kWriteOnly, 204, read_of(bench, 0, 1), {1});
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 204 credits 0 msn 4"}));
}

// 9.7.7.1. Expect: a READ and an atomic that come again are answered with the number of messages
// that was told last, not with the one of their first answer.
TEST(Duplicates, AnswersDoNotTakeMessagesBack) {
  Bench bench;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  bench.receive(Operation::kFetchAdd, 201, fetch_add(bench, 1));
  bench.receive(Operation::kWriteOnly, 202, read_of(bench, 8, 1), {1});
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  bench.receive(Operation::kFetchAdd, 201, fetch_add(bench, 1));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find(" msn 3"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(" msn 3"), std::string::npos) << lines[1];
}

/// The MSN of a line of bench.sent().
uint32_t msn_in(const std::string& line) {
  return static_cast<uint32_t>(std::stoul(line.substr(line.find(" msn ") + 5)));
}

// 9.7.7.1. Expect: the same if READs that came later are still to be answered: they are not counted
// before their answers.
TEST(Duplicates, AnswersDoNotCountWhatWaitsBehindThem) {
  Bench bench;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive(Operation::kReadRequest, 201, read_of(bench, 0, 2 * kMtu));
  bench.receive(Operation::kReadRequest, 203, read_of(bench, 0, 8));
  TxBatch first(TxBatch::Limits{.packets = 1});
  EXPECT_TRUE(bench.device.transmit(first, bench.now, AckPolicy::kAll));
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(head(lines[0]), "READ Response Only psn 200");
  EXPECT_EQ(msn_in(lines[0]), 2U);
  EXPECT_EQ(msn_in(lines[1]), 2U);
  EXPECT_EQ(msn_in(lines[2]), 2U);
  EXPECT_EQ(msn_in(lines[3]), 3U);
}

TEST(Duplicates, WriteIsNotExecutedAgain) {
  Bench bench;
  bench.receive(Operation::kWriteOnly, 200, read_of(bench, 0, 1), {1});
  bench.sent();
  bench.target[0] = 50;
  bench.receive(Operation::kWriteOnly, 200, read_of(bench, 0, 1), {1});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_EQ(bench.target[0], 50);
}

// Expect: a duplicate inside a message that goes on does not disturb it.
TEST(Duplicates, InTheMiddleOfAMessage) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, {}, std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kSendMiddle, 201, {}, std::vector<uint8_t>(kMtu, 2));
  bench.receive(Operation::kSendFirst, 200, with_ack_req(), std::vector<uint8_t>(kMtu, 1));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 1 msn 0"}));
  bench.receive(Operation::kSendLast, 202, with_ack_req(), {3});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 credits 0 msn 1"}));
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 2);
}

// 9.7.5.1.4. Expect: the memory is read anew.
TEST(Duplicates, ReadIsExecutedAgain) {
  Bench bench;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 2 * kMtu));
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.target[0] = 77;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 2 * kMtu));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(head(lines[0]), "READ Response First psn 200");
  EXPECT_EQ(head(lines[1]), "READ Response Last psn 201");
  EXPECT_EQ(bench.payloads()[0][0], 77);
}

// 9.7.5.1.4. Expect: a READ resumed in the middle is answered from there.
TEST(Duplicates, ReadFromTheMiddle) {
  Bench bench;
  for (uint32_t i = 0; i < 4; ++i) bench.target[i * kMtu] = static_cast<uint8_t>(10 + i);
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 4 * kMtu));
  EXPECT_EQ(bench.sent().size(), 4U);
  bench.receive(Operation::kReadRequest, 202, read_of(bench, 2 * kMtu, 2 * kMtu));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("psn 202"), std::string::npos);
  EXPECT_EQ(head(lines[1]), "READ Response Last psn 203");
  EXPECT_EQ(bench.payloads()[0][0], 12);
  EXPECT_EQ(bench.payloads()[1][0], 13);
}

/// Two READs of four responses each have come, and two responses were sent of the second. The first
/// is repeated, so many responses from its second on. Returns the PSNs of what follows.
std::vector<std::string> repeat_while_the_next_is_answered(uint32_t packets) {
  Bench bench;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 4 * kMtu));
  bench.receive(Operation::kReadRequest, 204, read_of(bench, 0, 4 * kMtu));
  TxBatch batch(TxBatch::Limits{.packets = 6});
  EXPECT_TRUE(bench.device.transmit(batch, bench.now, AckPolicy::kAll));
  bench.receive(Operation::kReadRequest, 201, read_of(bench, kMtu, packets * kMtu));
  std::vector<std::string> psns;
  for (const std::string& line : bench.sent())
    psns.push_back(line.substr(line.find("psn ") + 4, 3));
  return psns;
}

// Expect: a requester that asks for a part of a READ keeps what has come behind it. One that goes
// back, and asks for all the rest, takes nothing that is out of order.
TEST(Duplicates, PartOfAReadDoesNotRepeatTheNext) {
  EXPECT_EQ(repeat_while_the_next_is_answered(2),
            (std::vector<std::string>{"201", "202", "206", "207"}));
  EXPECT_EQ(repeat_while_the_next_is_answered(3),
            (std::vector<std::string>{"201", "202", "203", "204", "205", "206", "207"}));
}

// Expect: what follows a repeated READ keeps its order: READ responses, then the newer ACK.
TEST(Duplicates, ReadThenNewRequest) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  bench.sent();
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(head(lines[0]), "READ Response Only psn 200");
  EXPECT_EQ(lines[1], "ACK psn 201 credits 0 msn 2");
}

// Expect: a "duplicate" READ of other memory than the first asked for is dropped.
TEST(Duplicates, ReadOutsideTheFirstIsDropped) {
  Bench bench;
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 64, 2 * kMtu));
  bench.sent();
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 0, 8));
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 64, 2 * kMtu + 1));
  bench.receive(Operation::kReadRequest, 201, read_of(bench, 64, kMtu));
  bench.receive(Operation::kReadRequest, 199, read_of(bench, 64, 8));
  bench.receive(Operation::kReadRequest, 200, read_of(bench, 64, 0));
  Headers by_another_key = read_of(bench, 64, 2 * kMtu);
  by_another_key.reth.rkey = RKey(bench.target_region->rkey.value() ^ 1);
  bench.receive(Operation::kReadRequest, 200, by_another_key);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 6U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// 9.7.5.1.5. Expect: the saved result; the memory is not touched again.
TEST(Duplicates, AtomicIsAnsweredFromTheSavedResult) {
  Bench bench;
  bench.target[0] = 5;
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  const Lines first = bench.sent();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_NE(first[0].find("original 0x5"), std::string::npos);
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent(), first);
  EXPECT_EQ(bench.target[0], 6);
}

// 9.4.5. Expect: the last max_dest_rd_atomic results are kept; an older duplicate is dropped.
TEST(Duplicates, OldAtomicsAreForgotten) {
  Bench bench;
  for (uint32_t i = 0; i < 5; ++i) {
    bench.receive(Operation::kFetchAdd, 200 + i, fetch_add(bench, 1));
    bench.sent();
  }
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive(Operation::kFetchAdd, 201, fetch_add(bench, 1));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("psn 201"), std::string::npos);
  EXPECT_NE(lines[0].find("original 0x1"), std::string::npos);
  EXPECT_EQ(bench.target[0], 5);
}

// PSNs wrap with no READ or atomic between. Expect: a record of the last round answers nothing.
TEST(Duplicates, RecordsExpire) {
  Bench bench;
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.qp->responder.advance((1U << 23) - 10);
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.qp->responder.advance((1U << 23) + 60);
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.target[0], 1);
}

// Expect: of two records with the same PSN the newer one answers.
TEST(Duplicates, NewestRecordAnswers) {
  Bench bench;
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  bench.sent();
  bench.qp->responder.advance((1U << 24) - 1);
  for (int i = 0; i < 2; ++i) {
    bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
    const Lines lines = bench.sent();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("original 0x1"), std::string::npos) << lines[0];
  }
  EXPECT_EQ(bench.target[0], 2);
}

// A duplicate's answer not yet sent held the place that the next request needs: the requester,
// which keeps to its limit because it has had the first answer, was refused.
TEST(Duplicates, OwedDuplicateDoesNotRefuseANewRequest) {
  BenchOptions options;
  options.connect.max_dest_rd_atomic = 1;
  Bench bench(options);
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  bench.sent();
  bench.receive(Operation::kFetchAdd, 200, fetch_add(bench, 1));
  bench.receive(Operation::kFetchAdd, 201, fetch_add(bench, 1));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("ATOMIC ACK psn 201"), std::string::npos);
  EXPECT_EQ(bench.target[0], 2);
}

// A batch smaller than one turn: requests filled it and the answers never went out.
TEST(Duplicates, RequestsDoNotStarveAnswers) {
  Bench bench;
  bench.post_receive();
  for (int i = 0; i < 20; ++i) bench.post(IBV_WR_SEND, 0);
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  TxBatch::Limits limits;
  limits.packets = 1;
  TxBatch batch(limits);
  bool answered = false;
  for (int i = 0; i < 4; ++i) {
    batch.clear();
    bench.device.transmit(batch, bench.now, AckPolicy::kAll);
    for (const auto& message : batch.messages()) {
      const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
      ASSERT_TRUE(view);
      if (view->headers.bth.opcode.operation() == Operation::kAcknowledge) answered = true;
    }
  }
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace urxe::test::responder_duplicate_test
