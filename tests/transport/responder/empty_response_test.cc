// SPDX-License-Identifier: BSD-2-Clause
// What ATOMIC WRITE and FLUSH (annex A19) have in common as requests: they are answered by a READ
// response without data.
#include <gtest/gtest.h>

#include "tests/transport/responder/empty_response_bench.h"
#include "transport/later_verbs.h"

namespace urxe::test {

void EmptyResponseBench::receive_answer(uint32_t psn, const std::vector<uint8_t>& payload,
                                        Operation operation) {
  Headers headers;
  headers.aeth = {kAck, Msn(0)};
  receive(operation, psn, headers, payload);
}

void expect_empty_response(Bench& bench, const std::string& what) {
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 1U) << what;
  EXPECT_NE(sent[0].find("READ Response Only psn 200"), std::string::npos) << what << sent[0];
  EXPECT_TRUE(bench.payloads()[0].empty()) << what;
  EXPECT_EQ(bench.qp->responder.msn, Msn(1)) << what;
}

namespace {

/// The parameter is the request's opcode.
class EmptyResponse : public testing::TestWithParam<ibv_wr_opcode> {
 protected:
  static void post(Bench& bench) {
    if (GetParam() != kWrFlush) return bench.post(GetParam(), 8);
    sim::SendRequest request;
    request.opcode = kWrFlush;
    request.flush = {Feth::kGlobal, Feth::kRange};
    request.flush_length = 8;
    bench.post(request);
  }
};

// Expect: an ACK beyond it says that its response was lost; it is sent again.
TEST_P(EmptyResponse, ThatIsLostIsAskedForAgain) {
  EmptyResponseBench bench;
  post(bench);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  const Lines first = bench.sent();
  bench.receive_ack(kSqPsn + 1);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.sent(), first);
  bench.receive_answer(kSqPsn);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

TEST_P(EmptyResponse, CountsAgainstTheLimitOfReads) {
  BenchOptions options;
  options.connect.max_rd_atomic = 1;
  EmptyResponseBench bench(options);
  post(bench);
  post(bench);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_answer(kSqPsn);
  EXPECT_EQ(bench.sent().size(), 1U);
}

TEST_P(EmptyResponse, WithDataBreaksTheProtocol) {
  EmptyResponseBench bench;
  post(bench);
  (void)bench.sent();
  bench.receive_answer(kSqPsn, std::vector<uint8_t>(8, 1));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_BAD_RESP_ERR}}));
}

TEST_P(EmptyResponse, OfAnAtomicBreaksTheProtocol) {
  EmptyResponseBench bench;
  post(bench);
  (void)bench.sent();
  bench.receive_answer(kSqPsn, {}, Operation::kAtomicAcknowledge);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_BAD_RESP_ERR}}));
}

TEST_P(EmptyResponse, InSeveralPacketsBreaksTheProtocol) {
  for (const Operation part : {Operation::kReadResponseFirst, Operation::kReadResponseLast}) {
    EmptyResponseBench bench;
    post(bench);
    (void)bench.sent();
    bench.receive_answer(kSqPsn, {}, part);
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_BAD_RESP_ERR}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EmptyResponse, testing::Values(IBV_WR_ATOMIC_WRITE, kWrFlush),
                         [](const auto& opcode) {
                           return opcode.param == kWrFlush ? "Flush" : "AtomicWrite";
                         });

}  // namespace
}  // namespace urxe::test
