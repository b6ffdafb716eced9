// SPDX-License-Identifier: BSD-2-Clause
// It is processes that are asked whether they are there: those with many connections, and many of
// them.
#include <map>
#include <set>

#include "tests/transport/cm/timers/probing.h"
#include "transport/cm/timers/probe.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

constexpr CommId kOtherProcess{kPeerId.value() + (1U << kCommIdIndexBits)};

/// Whoever is asked is there, but for `dead`, of whom nobody says anything, and `gone`.
struct Peers {
  std::set<CommId> dead;
  std::set<CommId> gone;
  std::map<CommId, uint32_t> asked;  ///< of the peers: how often

  void answer_all(Bench& bench) {
    while (const auto message = bench.sent()) {
      const auto& dreq = std::get<CmDreq>(message->body);
      const CommId peer = dreq.remote_comm_id;
      const CommId ours = dreq.local_comm_id;
      ++asked[peer];
      if (gone.contains(peer)) {
        bench.receive(CmDrep{peer, ours, {}}, message->transaction_id);
      } else if (!dead.contains(peer)) {
        bench.receive(CmMra{peer, ours, CmAnswered::kOther, 0, {}}, message->transaction_id);
      }
    }
  }
  void run(Bench& bench, Duration time) {
    const Instant end = bench.now + time;
    while (bench.cm.next_deadline() && *bench.cm.next_deadline() <= end) {
      bench.advance_to_deadline();
      answer_all(bench);
    }
    bench.now = end;
  }
  uint32_t questions() const {
    uint32_t sum = 0;
    for (const auto& [peer, times] : asked) sum += times;
    return sum;
  }
};

TEST(CmProbeProcess, AFewConnectionsCostNoMoreThanOne) {
  Bench bench(probing());
  for (uint32_t i = 0; i < 5; ++i) connect_to(bench, CommId{kPeerId.value() + i});
  Peers peers;
  peers.run(bench, kInterval * 100);
  EXPECT_NEAR(peers.questions(), 100, 1);
  for (const auto& [peer, times] : peers.asked) EXPECT_NEAR(times, 20, 1);
}

TEST(CmProbeProcess, EachOfManyConnectionsIsAskedAfterInARound) {
  CmConfig config = probing();
  config.probe_round = seconds(100);
  Bench bench(config);
  constexpr uint32_t kConnections = 2000;
  for (uint32_t i = 0; i < kConnections; ++i) connect_to(bench, CommId{kPeerId.value() + i});
  Peers peers;
  peers.run(bench, kInterval * 2);  // by then the first question has come
  peers.asked.clear();
  peers.run(bench, seconds(100));
  EXPECT_EQ(peers.asked.size(), kConnections);
  EXPECT_NEAR(peers.questions(), kConnections, 2);
}

TEST(CmProbeProcess, AllItsConnectionsEndWithItsSilence) {
  Bench bench(probing());
  Peers peers;
  std::set<CommId> dead;
  for (uint32_t i = 0; i < 300; ++i) {
    const CommId remote{kPeerId.value() + i};
    peers.dead.insert(remote);
    dead.insert(connect_to(bench, remote));
  }
  const CommId alive = connect_to(bench, kOtherProcess);
  peers.run(bench, kInterval * 2 + kAgain * kLimit);
  while (const auto event = bench.cm.take_event()) {
    if (event->kind == Kind::kTimeWaitExit) continue;
    EXPECT_EQ(event->kind, Kind::kPeerSilent);
    EXPECT_EQ(dead.erase(event->id), 1u);
  }
  EXPECT_TRUE(dead.empty());
  EXPECT_EQ(bench.cm.state(alive), CmState::kEstablished);
}

TEST(CmProbeProcess, ManyConnectionsEndInManyTurns) {
  Bench bench(probing());
  Peers peers;
  constexpr size_t kConnections = 1000;
  for (uint32_t i = 0; i < kConnections; ++i) {
    const CommId remote{kPeerId.value() + i};
    peers.dead.insert(remote);
    connect_to(bench, remote);
  }
  size_t silent = 0;
  while (silent < kConnections) {
    ASSERT_TRUE(bench.advance_to_deadline());
    peers.answer_all(bench);
    size_t in_this_turn = 0;
    while (const auto event = bench.cm.take_event()) {
      in_this_turn += event->kind == Kind::kPeerSilent ? 1 : 0;
    }
    ASSERT_LE(in_this_turn, 64u);
    silent += in_this_turn;
  }
}

TEST(CmProbeProcess, IsThereAsLongAsItAnswersForAnyOfItsConnections) {
  Bench bench(probing());
  Peers peers;
  const CommId asked_in_vain = connect_to(bench, kPeerId);
  connect_to(bench, CommId{kPeerId.value() + 1});
  peers.dead = {kPeerId};
  peers.run(bench, kInterval * 50);
  EXPECT_EQ(bench.cm.state(asked_in_vain), CmState::kEstablished);
}

TEST(CmProbeProcess, WhereOneEndIsGoneTheOthersAreAskedAtOnce) {
  CmConfig config = probing();
  config.probes_per_second = 1000;
  config.probe_round = seconds(1000);
  Bench bench(config);
  Peers peers;
  std::set<CommId> gone;
  std::set<CommId> alive;
  // Its predecessor's and its own.
  for (uint32_t i = 0; i < 1000; ++i) {
    const CommId remote{kPeerId.value() + i};
    const CommId ours = connect_to(bench, remote);
    if (i % 3 == 0) peers.gone.insert(remote);
    (i % 3 == 0 ? gone : alive).insert(ours);
  }
  while (peers.asked.empty()) peers.run(bench, milliseconds(100));
  peers.run(bench, seconds(10));
  while (const auto event = bench.cm.take_event()) {
    if (event->kind == Kind::kTimeWaitExit) continue;
    EXPECT_EQ(event->kind, Kind::kPeerGone);
    EXPECT_EQ(gone.erase(event->id), 1u);
  }
  EXPECT_TRUE(gone.empty());
  for (const CommId id : alive) EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  EXPECT_LE(peers.questions(), 2000u) << "asks on after all have answered";
}

TEST(CmProbeProcess, ConnectionsOfOtherProcessesAreNotAskedForIt) {
  Bench bench(probing());
  Peers peers;
  peers.gone = {kPeerId};
  connect_to(bench, kPeerId);
  connect_to(bench, kOtherProcess);
  peers.run(bench, kInterval * 2);
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).flow.source, bench.peer);
  EXPECT_LE(peers.asked[kOtherProcess], 2u);
}

TEST(CmProbeProcess, ManyAreAskedInTurns) {
  CmConfig config = probing();
  config.probes_per_second = 10;
  Bench bench(config);
  constexpr uint32_t kProcesses = 500;
  for (uint32_t i = 0; i < kProcesses; ++i) {
    connect_to(bench, CommId{(i << kCommIdIndexBits) + i + 2});
  }
  Peers peers;
  const Instant start = bench.now;
  for (uint32_t second = 1; second <= 200; ++second) {
    peers.run(bench, start + seconds(second) - bench.now);
    ASSERT_LE(peers.questions(), 10 * second + 1);
  }
  EXPECT_EQ(peers.asked.size(), kProcesses);
  EXPECT_GT(peers.questions(), 1500u) << "each is asked every 50 seconds";
  EXPECT_EQ(bench.cm.size(), kProcesses);
}

TEST(CmProbeProcess, IsForgottenWithItsLastConnection) {
  Bench bench(probing());
  const CommId one = connect_to(bench, kPeerId);
  const CommId other = connect_to(bench, CommId{kPeerId.value() + 1});
  ask(bench);
  for (const CommId id : {one, other}) {
    bench.cm.destroy(id, bench.now);
    bench.expect_sent<CmDreq>();
    bench.receive(CmDrep{id == one ? kPeerId : CommId{kPeerId.value() + 1}, id, {}});
  }
  while (bench.advance_to_deadline()) bench.expect_quiet();
  EXPECT_EQ(bench.cm.size(), 0u);
}

}  // namespace
}  // namespace urxe::test
