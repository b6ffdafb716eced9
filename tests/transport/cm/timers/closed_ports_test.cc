// SPDX-License-Identifier: BSD-2-Clause
// Peers that do not answer, and whose hosts' kernels say that nobody takes RoCE packets there.
#include "transport/cm/timers/closed_ports.h"

#include "tests/transport/cm/bench.h"
#include "tests/transport/cm/timers/probing.h"
#include "transport/cm/timers/probe.h"

namespace urxe::test::closed_ports_test {
namespace {

using Kind = CmEvent::Kind;

constexpr uint32_t kQuietAfter = 2;
constexpr Duration kFirstRetry = milliseconds(250);

CmConfig looking() {
  CmConfig config = probing();
  config.quiet_after = kQuietAfter;
  return config;
}

/// Advances to the first kPeerQuiet.
void until_quiet(Bench& bench) {
  for (uint32_t i = 0; i <= kQuietAfter; ++i) {
    bench.expect_no_event();
    if (i < kQuietAfter) ask(bench);
  }
  ASSERT_TRUE(bench.advance_to_deadline());
  bench.expect_nothing_sent();
}

void close_port(Bench& bench) {
  bench.cm.port_is_closed(bench.ours, bench.peer, bench.now);
}

TEST(CmClosedPort, IsAskedForBeforeEachQuestionToAQuietProcess) {
  Bench bench(looking());
  const CommId id = bench.connect_established();
  until_quiet(bench);
  for (uint32_t i = kQuietAfter; i < kLimit; ++i) {
    const CmEvent event = bench.expect_event(Kind::kPeerQuiet);
    EXPECT_EQ(event.id, CommId{});
    EXPECT_EQ(event.flow.source, bench.peer);
    EXPECT_EQ(event.flow.destination, bench.ours);
    const Instant told = bench.now;
    ask(bench);
    EXPECT_LT(bench.now - told, kAgain) << "the question that belongs to it";
    bench.expect_quiet();
    ASSERT_TRUE(bench.advance_to_deadline());
    bench.expect_nothing_sent();
  }
  EXPECT_EQ(bench.expect_event(Kind::kPeerSilent).id, id) << "nobody has said that it is closed";
}

TEST(CmClosedPort, EndsTheConnectionsWithQuietProcesses) {
  Bench bench(looking());
  const CommId id = bench.connect_established();
  const CommId second = connect_to(bench, CommId{kPeerId.value() + 1});
  until_quiet(bench);
  bench.expect_event(Kind::kPeerQuiet);
  close_port(bench);
  bench.expect_quiet();
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).id, id);
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).id, second);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  EXPECT_EQ(bench.cm.state(second), CmState::kTimeWait);
}

TEST(CmClosedPort, OfAnotherHostEndsNothing) {
  Bench bench(looking());
  const CommId id = bench.connect_established();
  until_quiet(bench);
  bench.expect_event(Kind::kPeerQuiet);
  bench.cm.port_is_closed(bench.ours, gid_of(9), bench.now);
  bench.cm.port_is_closed(gid_of(9), bench.peer, bench.now);
  ask(bench);
  ASSERT_TRUE(bench.advance_to_deadline());
  bench.expect_event(Kind::kPeerQuiet);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmClosedPort, EndsNothingOnceThePeerHasAnswered) {
  Bench bench(looking());
  const CommId id = bench.connect_established();
  until_quiet(bench);
  bench.expect_event(Kind::kPeerQuiet);
  close_port(bench);
  answer(bench, id);
  const Instant asked = ask(bench);
  EXPECT_EQ(*bench.cm.next_deadline(), asked + kAgain) << "as to a process that answers";
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmClosedPort, IsForgottenAfterAWhile) {
  Bench bench(looking());
  bench.connect_established();
  close_port(bench);
  bench.advance(ClosedPortMemory::kValid);
  until_quiet(bench);
  bench.expect_event(Kind::kPeerQuiet);
}

/// The consumer takes no events for a while.
TEST(CmClosedPort, WaitingEventsAreOneForTwoAddresses) {
  Bench bench(looking());
  bench.connect_established();
  until_quiet(bench);
  for (int i = 0; i < 2; ++i) bench.advance_to_deadline();
  bench.expect_event(Kind::kPeerQuiet);
  bench.expect_no_event();
}

CmConfig disconnecting() {
  CmConfig config = looking();
  config.first_retry = kFirstRetry;
  config.probe_again = kFirstRetry;
  return config;
}

TEST(CmClosedPort, EndsADisconnectThatNobodyAnswers) {
  Bench bench(disconnecting());
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDreq>();
  const Instant sent = bench.now;
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.now, sent + kFirstRetry);
  bench.expect_event(Kind::kPeerQuiet);
  bench.expect_quiet();
  close_port(bench);
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.now, sent + kFirstRetry * 2);
  EXPECT_EQ(bench.expect_event(Kind::kDisconnectTimeout).id, id);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
}

/// Nobody says that the port is closed. Expect: the retries and the time are as without looks.
TEST(CmClosedPort, LooksDoNotChangeTheRetriesOfADisconnect) {
  CmConfig without = disconnecting();
  without.quiet_after = 0;
  std::vector<Duration> retries[2];
  size_t looks[2] = {};
  for (const bool looks_at_port : {false, true}) {
    Bench bench(looks_at_port ? disconnecting() : without);
    const CommId id = bench.connect_established();
    ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
    bench.expect_sent<CmDreq>();
    const Instant sent = bench.now;
    while (bench.cm.state(id) == CmState::kDreqSent && bench.advance_to_deadline()) {
      if (bench.sent()) retries[looks_at_port].push_back(bench.now - sent);
      for (auto event = bench.cm.take_event(); event; event = bench.cm.take_event()) {
        if (event->kind == Kind::kPeerQuiet) ++looks[looks_at_port];
      }
    }
    retries[looks_at_port].push_back(bench.now - sent);
  }
  EXPECT_EQ(retries[0], retries[1]);
  EXPECT_GT(retries[0].size(), 2u);
  EXPECT_EQ(looks[0], 0u);
  EXPECT_GT(looks[1], retries[1].size()) << "between two retries, too";
}

TEST(CmClosedPort, OfOtherMakesIsNotAskedFor) {
  CmConfig config = disconnecting();
  config.probe_guid_value = ~kPeerGuid & config.probe_guid_mask;
  Bench bench(config);
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  while (bench.cm.state(id) == CmState::kDreqSent && bench.advance_to_deadline()) {
  }
  bench.expect_event(Kind::kDisconnectTimeout);
  bench.expect_no_event();
}

}  // namespace
}  // namespace urxe::test::closed_ports_test
