// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/timers/probing.h"

#include "transport/cm/timers/probe.h"

namespace urxe::test {

CmConfig probing() {
  CmConfig config = Bench::default_config();
  config.probe_interval = kInterval;
  config.probe_again = kAgain;
  config.probe_limit = kLimit;
  config.probe_guid_mask = ~uint64_t{0xff};
  config.probe_guid_value = kPeerGuid & ~uint64_t{0xff};
  return config;
}

Instant ask(Bench& bench) {
  EXPECT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.expect_sent<CmDreq>().remote_qpn, kProbeQpn);
  bench.expect_nothing_sent();
  return bench.now;
}

bool next_is_probe(Bench& bench) {
  if (!bench.advance_to_deadline()) return true;
  const auto message = bench.sent();
  if (!message) return true;
  bench.transaction_id = message->transaction_id;
  const auto* dreq = std::get_if<CmDreq>(&message->body);
  return dreq != nullptr && dreq->remote_qpn == kProbeQpn;
}

void answer(Bench& bench, CommId id) {
  answer(bench, id, bench.transaction_id);
}

void answer(Bench& bench, CommId id, uint64_t transaction_id) {
  bench.receive(CmMra{kPeerId, id, CmAnswered::kOther, 0, {}}, transaction_id);
}

CommId connect_to(Bench& bench, CommId remote) {
  const CommId id = bench.connect();
  CmRep rep = peer_reply(id);
  rep.local_comm_id = remote;
  rep.local_qpn = Qpn{remote.value() & 0xffffff};
  bench.receive(rep);
  bench.expect_event(CmEvent::Kind::kReply);
  EXPECT_TRUE(bench.cm.confirm(id, {}, bench.now));
  bench.expect_sent<CmRtu>();
  return id;
}

}  // namespace urxe::test
