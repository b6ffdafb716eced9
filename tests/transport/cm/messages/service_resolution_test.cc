// SPDX-License-Identifier: BSD-2-Clause
// Service id resolution (IBTA vol. 1, 12.11).
#include <cerrno>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

constexpr CommId kPeerRequest{0x7100'0001};

CmSidrReq service_request(CommId id = kPeerRequest) {
  CmSidrReq req;
  req.request_id = id;
  req.service_id = kService;
  return req;
}

CommId resolve(Bench& bench, uint8_t retries = 2) {
  const auto id =
      bench.cm.resolve_service(service_request({}), flow_between(bench.ours, bench.peer),
                               milliseconds(100), retries, bench.now);
  EXPECT_TRUE(id);
  EXPECT_EQ(bench.expect_sent<CmSidrReq>().request_id, *id);
  return *id;
}

TEST(CmService, AsksAndGetsAQueuePair) {
  Bench bench;
  const CommId id = resolve(bench);
  EXPECT_EQ(bench.cm.state(id), CmState::kSidrReqSent);
  CmSidrRep rep;
  rep.request_id = id;
  rep.qpn = Qpn{0x33};
  rep.qkey = QKey{0x44};
  bench.receive(rep, bench.transaction_id + 1);
  bench.expect_no_event();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 1u) << "a forged one";
  bench.receive(rep, bench.transaction_id);
  const CmEvent event = bench.expect_event(Kind::kServiceReply);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(std::get<CmSidrRep>(event.body).qpn, Qpn{0x33});
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.receive(rep);
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kUnknownId), 1u);
}

TEST(CmService, AsksAgainThenGivesUp) {
  Bench bench;
  const CommId id = resolve(bench);
  const uint64_t transaction = bench.transaction_id;
  for (int retry = 0; retry < 2; ++retry) {
    bench.advance(milliseconds(100));
    bench.expect_sent<CmSidrReq>();
    EXPECT_EQ(bench.transaction_id, transaction);
  }
  bench.advance(milliseconds(100));
  EXPECT_EQ(bench.expect_event(Kind::kServiceTimeout).id, id);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
}

TEST(CmService, AnAnswerFromAnotherAddressChangesNothing) {
  Bench bench;
  const CommId id = resolve(bench);
  CmSidrRep rep;
  rep.request_id = id;
  bench.receive_from(gid_of(66), rep);
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 1u);
}

TEST(CmService, AnAnswerToAConnectionRequestIsOfTheWrongState) {
  Bench bench;
  CmSidrRep rep;
  rep.request_id = bench.connect();
  bench.receive(rep);
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongState), 1u);
}

TEST(CmService, HandsTheRequestToItsListenerAndAnswers) {
  Bench bench;
  const ListenerId listener = bench.listen();
  bench.receive(service_request());
  const CmEvent event = bench.expect_event(Kind::kServiceRequest);
  EXPECT_EQ(event.listener, listener);
  bench.receive(service_request());
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kSidrReq), 1u);
  CmSidrRep rep;
  rep.qpn = kOurQpn;
  ASSERT_TRUE(bench.cm.answer_service(event.id, rep, bench.now));
  const auto sent = bench.expect_sent<CmSidrRep>();
  EXPECT_EQ(bench.transaction_id, kPeerTransaction);
  EXPECT_EQ(sent.request_id, kPeerRequest);
  EXPECT_EQ(sent.service_id, kService);
  EXPECT_EQ(sent.qpn, kOurQpn);
  EXPECT_EQ(bench.cm.state(event.id), CmState::kIdle);
  EXPECT_EQ(bench.cm.answer_service(event.id, rep, bench.now).error().value, EINVAL);
}

TEST(CmService, TheSameRequestAfterTheAnswerIsANewOne) {
  Bench bench;
  bench.listen();
  bench.receive(service_request());
  const CommId first = bench.expect_event(Kind::kServiceRequest).id;
  ASSERT_TRUE(bench.cm.answer_service(first, {}, bench.now));
  bench.receive(service_request());
  EXPECT_NE(bench.expect_event(Kind::kServiceRequest).id, first);
}

TEST(CmService, RefusesAServiceThatNobodyListensFor) {
  Bench bench;
  bench.receive(service_request());
  const auto rep = bench.expect_sent<CmSidrRep>();
  EXPECT_EQ(rep.status, CmSidrStatus::kUnsupported);
  EXPECT_EQ(rep.request_id, kPeerRequest);
  EXPECT_EQ(bench.cm.size(), 0u);
}

TEST(CmService, DestroyRejectsARequestAndForgetsAQuestion) {
  Bench bench;
  bench.listen();
  bench.receive(service_request());
  bench.cm.destroy(bench.expect_event(Kind::kServiceRequest).id, bench.now);
  EXPECT_EQ(bench.expect_sent<CmSidrRep>().status, CmSidrStatus::kReject);
  bench.cm.destroy(resolve(bench), bench.now);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.size(), 0u);
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmService, ARequestBeyondTheIdsIsLeftUnanswered) {
  CmConfig config = Bench::default_config();
  config.max_ids = 1;
  Bench bench(config);
  bench.listen();
  bench.receive(service_request());
  bench.expect_event(Kind::kServiceRequest);
  bench.receive(service_request(CommId{0x7100'0002}));
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kNoRoom), 1u);
}

}  // namespace
}  // namespace urxe::test
