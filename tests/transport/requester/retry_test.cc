// SPDX-License-Identifier: BSD-2-Clause
// Timeouts and retries (IBTA vol. 1, 9.7.5.1.3, 9.7.6.1).
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

const Lines kOneSend = {"SEND Only psn 100 ack len 0"};

/// The ACK timeout after `timeouts` others in a row: short ones are doubled twice.
Duration ack_timeout_after(int timeouts) {
  return kAckTimeout * (1 << std::min(timeouts, 2));
}

/// What the next timer sends that sends something; nothing if the queue pair has failed meanwhile.
Lines next_sent(Bench& bench) {
  Lines lines = bench.sent();
  while (lines.empty() && bench.qp->state() == IBV_QPS_RTS) {
    bench.now = bench.device.next_deadline().value();
    lines = bench.sent();
  }
  return lines;
}

/// How long it takes until the next ACK timeout is counted. Nothing is heard meanwhile.
Duration time_to_timeout(Bench& bench) {
  const Instant start = bench.now;
  const uint64_t before = bench.device.counters().ack_timeouts;
  for (;;) {
    bench.sent();
    if (bench.device.counters().ack_timeouts != before) return bench.now - start;
    bench.now = bench.device.next_deadline().value();
  }
}

// 9.7.6.1.3. Expect: 4.096 us * 2^timeout after the packet, to the nanosecond, it is sent again.
TEST(Retry, LocalAckTimeoutIsExact) {
  for (const uint8_t code : std::initializer_list<uint8_t>{1, 5, 8, 9}) {
    BenchOptions options;
    options.connect.timeout = code;
    Bench bench(options);
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(bench.sent(), kOneSend);
    ASSERT_TRUE(bench.device.next_deadline());
    bench.pass(nanoseconds((int64_t{4096} << code) - 1));
    EXPECT_EQ(bench.sent(), Lines{}) << int{code};
    bench.pass(nanoseconds(1));
    EXPECT_EQ(bench.sent(), kOneSend) << int{code};
    EXPECT_EQ(bench.device.counters().ack_timeouts, 1U);
  }
}

// 9.7.6.1.3. Expect: timeout 0 waits for ever. It asks now and then, ever more rarely.
TEST(Retry, TimeoutZeroNeverEnds) {
  BenchOptions options;
  options.connect.timeout = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  const Instant start = bench.now;
  int probes = 0;
  while (bench.now - start < seconds(10000)) {
    bench.now = bench.device.next_deadline().value();
    EXPECT_EQ(bench.sent(), kOneSend);
    ++probes;
  }
  EXPECT_LT(probes, 1000);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.device.counters().ack_timeouts, 0U);
}

// Expect: no timer runs where nothing is outstanding.
TEST(Retry, TimerStopsWithTheLastAck) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100);
  bench.pass(seconds(10));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.device.counters().ack_timeouts, 0U);
}

// 9.7.5.1.3, 9.9.2.1. Expect: retry_cnt N: N repetitions, then RETRY_EXC_ERR; 7 means seven,
// and 10, for which NICs have no room, ten.
TEST(Retry, RetryCountThenError) {
  for (const uint8_t retries : std::initializer_list<uint8_t>{0, 1, 3, 7, 10}) {
    BenchOptions options;
    options.connect.retry_cnt = retries;
    Bench bench(options);
    bench.post(IBV_WR_SEND, 0);
    bench.post_receive();
    EXPECT_EQ(bench.sent(), kOneSend);
    for (int i = 0; i < retries; ++i) {
      bench.pass(ack_timeout_after(i));
      EXPECT_EQ(bench.sent(), kOneSend) << i;
      EXPECT_EQ(bench.send_statuses(), Statuses{});
    }
    bench.pass(ack_timeout_after(retries));
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
    EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
    bench.pass(seconds(10));
    EXPECT_EQ(bench.sent(), Lines{});
  }
}

// The defect: every second question was for the newest packet, which a responder that has said what
// it waits for does not answer. A link that came and went could be down at all the others.
TEST(Retry, OnlyTheFirstQuestionIsForTheNewestPacket) {
  BenchOptions options;
  options.connect.retry_cnt = 7;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 2U);
  Lines questions;
  for (int i = 0; i < 6; ++i) {
    bench.pass(ack_timeout_after(i));
    const Lines sent = bench.sent();
    questions.insert(questions.end(), sent.begin(), sent.end());
  }
  ASSERT_GE(questions.size(), 6U);
  EXPECT_NE(questions[0].find("psn 101"), std::string::npos) << questions[0];
  for (size_t i = 1; i < questions.size(); ++i) EXPECT_EQ(questions[i], kOneSend[0]) << i;
}

// The defect: the first question is for the newest packet; if its memory was gone, nothing was sent
// and no timer started, and the queue pair waited for ever. Expect: the oldest is asked for
// instead, and the retries end.
TEST(Retry, AQuestionThatCannotBeSentIsForTheOldestPacket) {
  Bench bench;
  MemoryRegion* const gone =
      bench.device.register_memory(bench.pd, bench.memory.data(), 16, 0, 0).value();
  bench.post(IBV_WR_SEND, 0);
  sim::SendRequest request;
  request.sges = {{0, 16, gone->lkey}};
  bench.post(request);
  EXPECT_EQ(bench.sent().size(), 2U);
  ASSERT_TRUE(bench.device.deregister_memory(gone));
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), kOneSend);
  while (bench.qp->state() == IBV_QPS_RTS) {
    ASSERT_TRUE(bench.device.next_deadline());
    bench.now = *bench.device.next_deadline();
    bench.sent();
  }
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
}

// 9.7.6.1.3. The defect: with an ACK timeout of 4 ms a peer that a busy host kept waiting for 40 ms
// was taken for dead. Expect: a short timeout lasts four times as long from the third one on;
// an answer makes it short again.
TEST(Retry, ShortTimeoutsGrowInALongSilence) {
  BenchOptions options;
  options.connect.timeout = 10;
  const Duration timeout = nanoseconds(4096 << 10);
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(time_to_timeout(bench).ns, timeout.ns);
  bench.receive_ack(100);
  bench.post(IBV_WR_SEND, 0);
  for (const int times : {1, 2, 4, 4}) {
    EXPECT_EQ(time_to_timeout(bench).ns, (timeout * times).ns);
  }
}

// 9.7.6.1.3. The defect: a peer that a busy host kept waiting for a second was taken for dead.
// Expect: what most programs set, 67 ms and 7 retries, rides out 1.8 s.
TEST(Retry, UsualTimeoutsRideOutASecond) {
  BenchOptions options;
  options.connect.timeout = 14;
  options.connect.retry_cnt = 7;
  const Duration timeout = nanoseconds(4096 << 14);
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  for (const int times : {1, 2, 4, 4, 4, 4, 4, 4}) {
    EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
    EXPECT_EQ(time_to_timeout(bench).ns, (timeout * times).ns);
  }
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: an ACK timeout that is long already stays as it is.
TEST(Retry, LongTimeoutsDoNotGrow) {
  BenchOptions options;
  options.connect.timeout = 17;
  options.connect.retry_cnt = 7;
  const Duration timeout = nanoseconds(int64_t{4096} << 17);
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  for (int i = 0; i <= 7; ++i) EXPECT_EQ(time_to_timeout(bench).ns, timeout.ns);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// 9.7.5.1.3. Expect: an ACK of something new gives all retries back.
TEST(Retry, ProgressRefillsRetries) {
  BenchOptions options;
  options.connect.retry_cnt = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.pass(kAckTimeout);
  EXPECT_FALSE(bench.sent().empty());
  bench.receive_ack(100);
  bench.sent();
  EXPECT_EQ(next_sent(bench), (Lines{"SEND Only psn 101 ack len 0"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(next_sent(bench), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_RETRY_EXC_ERR}}));
}

// An application that changes its data too early makes the ICRC wrong, if the data was not copied.
// Expect: a copy whenever a packet is sent again.
TEST(Retry, OnlyTheFirstTimeThePayloadIsElsewhere) {
  Bench bench;
  bench.post(IBV_WR_SEND, 2 * kMtu + 1);
  EXPECT_EQ(bench.places_of_payloads(), (Lines{"elsewhere", "elsewhere", "in the batch"}));
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.places_of_payloads(), (Lines{"in the batch", "in the batch", "in the batch"}));
  bench.post(IBV_WR_SEND, kMtu);
  EXPECT_EQ(bench.places_of_payloads(), Lines{"elsewhere"});
  bench.receive_nak(103, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.places_of_payloads(), Lines{"in the batch"});
}

// Expect: copies if the loss of one packet would be the end of the connection.
TEST(Retry, WithoutRetriesNoPayloadIsElsewhere) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 2 * kMtu);
  EXPECT_EQ(bench.places_of_payloads(), (Lines{"in the batch", "in the batch"}));
}

const Lines kNewestOfThree = {"SEND Only psn 102 ack len 0"};

// 9.7.5.1.1. Expect: after a timeout the newest packet asks; a NAK says where to go on.
TEST(Retry, TimeoutProbesWithTheNewestPacket) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  bench.receive_nak(101, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0", "SEND Only psn 102 ack len 0"}));
}

// 9.7.5.1.1: a responder sends one NAK, which may be lost. Expect: the next probe is the packet
// that it waits for. Once it has that one, the newest packet asks again.
TEST(Retry, TheNextProbeIsTheOldestPacket) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.pass(ack_timeout_after(0));
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  bench.pass(ack_timeout_after(1));
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  bench.receive_nak(101, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0", "SEND Only psn 102 ack len 0"}));
}

// The defect: of a lost run whose NAKs were lost, too, two timeouts moved one packet. Expect: when
// the peer has taken two packets one by one, all is sent again.
TEST(Retry, ALostRunWhoseNaksAreLostIsSentAgainAsAWhole) {
  Bench bench;
  for (int i = 0; i < 6; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 6U);
  const Lines newest = {"SEND Only psn 105 ack len 0"};
  EXPECT_EQ(next_sent(bench), newest);
  EXPECT_EQ(next_sent(bench), kOneSend);
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), newest);
  EXPECT_EQ(next_sent(bench), (Lines{"SEND Only psn 101 ack len 0"}));
  bench.receive_ack(101);
  EXPECT_EQ(bench.sent(), newest);
  EXPECT_EQ(next_sent(bench),
            (Lines{"SEND Only psn 102 ack len 0", "SEND Only psn 103 ack len 0",
                   "SEND Only psn 104 ack len 0", "SEND Only psn 105 ack len 0"}));
  EXPECT_EQ(bench.device.counters().ack_timeouts, 4U);
  bench.receive_ack(105);
  EXPECT_EQ(bench.send_statuses().size(), 6U);
}

// Expect: answers to what was sent first are progress: nothing more is sent again.
TEST(Retry, AnswersThatWereOnTheirWayAreProgress) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  for (const uint32_t psn : {100U, 101U, 102U}) {
    bench.receive_ack(psn);
    EXPECT_EQ(bench.sent(), Lines{});
  }
  EXPECT_EQ(bench.send_statuses().size(), 3U);
}

// Expect: if an answer for a part is followed by silence, the newest packet asks again.
TEST(Retry, SilenceAfterAnAnswerIsNoLossYet) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(next_sent(bench), kNewestOfThree);
  bench.receive_nak(101, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0", "SEND Only psn 102 ack len 0"}));
}

// The answer to a probe may acknowledge everything. Expect: nothing is sent a third time.
TEST(Retry, LateAckAfterTimeoutEndsIt) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), kNewestOfThree);
  bench.receive_ack(102);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
}

// A timeout that is noticed long after it was due: this side had no processor, and the peer, on the
// same host, had perhaps none either. Expect: it asks again, and spends no retry; not for ever.
TEST(Retry, LateTimeoutsCostNoRetry) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  for (int i = 0; i < 10; ++i) {
    bench.pass(ack_timeout_after(i) * 3);
    EXPECT_EQ(bench.sent(), kOneSend) << i;
  }
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  for (int i = 0; i < 100; ++i) {
    bench.pass(ack_timeout_after(10 + i) * 3);
    bench.sent();
  }
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

/// How many ACK timeouts it takes until the queue pair fails. Nothing is heard meanwhile.
int timeouts_to_failure(Bench& bench) {
  int timeouts = 0;
  for (; bench.qp->state() == IBV_QPS_RTS && timeouts < 1000; ++timeouts) time_to_timeout(bench);
  return timeouts;
}

// The defect: a hundred pairs of programs polled on two processors, and one that had none for three
// seconds was taken for dead. Expect: on a crowded host, silence costs no retry for four seconds,
// or for 32 timeouts if they are short; a timeout that is longer than four seconds costs one.
TEST(Retry, SilenceOnACrowdedHostCostsNoRetryForSeconds) {
  struct Case {
    uint8_t code;
    int free;
  };
  for (const Case& one : {Case{14, 14}, Case{17, 7}, Case{19, 1}, Case{20, 0}, Case{8, 32}}) {
    BenchOptions options;
    options.connect.timeout = one.code;
    options.connect.retry_cnt = 7;
    Bench bench(options);
    bench.device.set_host_is_crowded(true);
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(timeouts_to_failure(bench), one.free + 8) << int{one.code};
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
  }
}

// Expect: an answer begins the seconds anew; when the crowd has gone, each silence costs a retry.
TEST(Retry, WhenTheCrowdHasGoneSilenceCostsRetries) {
  BenchOptions options;
  options.connect.timeout = 14;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.device.set_host_is_crowded(true);
  bench.post(IBV_WR_SEND, 0);
  for (int i = 0; i < 14; ++i) time_to_timeout(bench);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  bench.receive_ack(100);
  bench.post(IBV_WR_SEND, 0);
  for (int i = 0; i < 10; ++i) time_to_timeout(bench);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  bench.device.set_host_is_crowded(false);
  time_to_timeout(bench);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// 9.7.5.2 (NAK sequence error). Expect: all before is acknowledged, all from there on sent again.
TEST(Retry, SequenceNakGoesBack) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 2 * kMtu);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 4U);
  bench.receive_nak(102, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), (Lines{"SEND Last psn 102 ack len 1024", "SEND Only psn 103 ack len 0"}));
}

// Expect: sequence NAKs use up retries like timeouts, where nothing gets through between them.
TEST(Retry, SequenceNaksUseUpRetries) {
  BenchOptions options;
  options.connect.retry_cnt = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
}

// 9.7.5.1 Expect: of a READ of which some responses came, the first missing one is asked for; and,
// if nothing comes behind it, the rest.
TEST(Retry, ReadIsResumedInTheMiddle) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 5 * kMtu);
  EXPECT_EQ(bench.sent(), (Lines{"READ Request psn 100 ack va 0x5000 rkey 0x77 dma 5120"}));
  bench.receive(Operation::kReadResponseFirst, 100, {}, std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kReadResponseMiddle, 101, {}, std::vector<uint8_t>(kMtu, 2));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{"READ Request psn 102 ack va 0x5800 rkey 0x77 dma 1024"}));
  bench.receive(Operation::kReadResponseOnly, 102, {}, std::vector<uint8_t>(kMtu, 3));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{"READ Request psn 103 ack va 0x5c00 rkey 0x77 dma 2048"}));
}

// 9.7.5.1 Expect: a READ that was not answered at all is repeated as it was: the request may be
// lost, and the responder counts requests.
TEST(Retry, ReadIsRepeatedWhole) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 4 * kMtu);
  const Lines request = {"READ Request psn 100 ack va 0x5000 rkey 0x77 dma 4096"};
  EXPECT_EQ(bench.sent(), request);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), request);
}

// 9.7.5.1 Expect: the resumed READ's answer is taken as FIRST LAST and as MIDDLE LAST.
TEST(Retry, ResumedReadIsTakenInEitherForm) {
  for (const Operation form : {Operation::kReadResponseFirst, Operation::kReadResponseMiddle}) {
    Bench bench;
    bench.post(IBV_WR_RDMA_READ, 3 * kMtu);
    bench.sent();
    bench.receive(Operation::kReadResponseFirst, 100, {}, std::vector<uint8_t>(kMtu, 1));
    bench.pass(kAckTimeout);
    EXPECT_EQ(bench.sent(), (Lines{"READ Request psn 101 ack va 0x5400 rkey 0x77 dma 1024"}));
    bench.receive(form, 101, {}, std::vector<uint8_t>(kMtu, 2));
    bench.receive(Operation::kReadResponseLast, 102, {}, std::vector<uint8_t>(kMtu, 3));
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
    EXPECT_EQ(bench.memory[kMtu - 1], 1);
    EXPECT_EQ(bench.memory[kMtu], 2);
    EXPECT_EQ(bench.memory[2 * kMtu], 3);
  }
}

// The early loss probe: long ACK timeouts do not mean long stalls. Expect: it costs no retry.
TEST(Retry, LossProbeCostsNoRetry) {
  BenchOptions options;
  options.connect.timeout = 18;  // 1.07 s
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  const auto deadline = bench.device.next_deadline();
  ASSERT_TRUE(deadline);
  EXPECT_LT(*deadline - bench.now, milliseconds(100));
  bench.now = *deadline;
  EXPECT_EQ(bench.sent(), kOneSend);
  EXPECT_EQ(bench.device.counters().loss_probes, 1U);
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: probes do not put off the ACK timeout, which still ends a dead connection.
TEST(Retry, LossProbesDoNotPutOffTheTimeout) {
  BenchOptions options;
  options.connect.timeout = 14;  // 67.1 ms
  options.connect.retry_cnt = 2;
  Bench bench(options);
  const Instant start = bench.now;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  while (bench.qp->state() == IBV_QPS_RTS) {
    const auto deadline = bench.device.next_deadline();
    ASSERT_TRUE(deadline);
    ASSERT_LE(*deadline - start, seconds(1));
    bench.now = *deadline;
    bench.sent();
  }
  EXPECT_EQ(bench.now - start, nanoseconds((int64_t{4096} << 14) * (1 + 2 + 4)));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
}

}  // namespace
}  // namespace urxe::test
