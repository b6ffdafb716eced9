// SPDX-License-Identifier: BSD-2-Clause
// Automatic path migration (IBTA vol. 1, 17.2.8).
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <string>

#include "tests/support/failing_allocations.h"
#include "tests/transport/bench.h"

namespace urxe::test::path_migration_test {
namespace {

const uint8_t kPrimary[4] = {192, 0, 2, 1};
const uint8_t kPrimaryPeer[4] = {192, 0, 2, 2};
const uint8_t kSecond[4] = {198, 51, 100, 1};
const uint8_t kSecondPeer[4] = {198, 51, 100, 2};
const uint8_t kThirdPeer[4] = {203, 0, 113, 2};
constexpr uint8_t kAlternateTimeout = 9;
constexpr uint16_t kAlternatePort = 0xd001;

ibv_qp_attr alternate_attributes() {
  ibv_qp_attr attr{};
  attr.alt_ah_attr.is_global = 1;
  attr.alt_ah_attr.port_num = 1;
  attr.alt_ah_attr.grh.sgid_index = 1;
  const Gid peer = Gid::from_ipv4(kSecondPeer);
  std::memcpy(attr.alt_ah_attr.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
  attr.alt_port_num = 1;
  attr.alt_timeout = kAlternateTimeout;
  return attr;
}

/// A queue pair with an alternate path; its peer, the test, says where its packets come from.
struct Migration {
  explicit Migration(const BenchOptions& options = {}) : bench(options) {
    const Gid gids[] = {Gid::from_ipv4(kPrimary), Gid::from_ipv4(kSecond)};
    bench.device.set_gids(gids);
  }

  int modify(const ibv_qp_attr& attr, int mask) {
    const auto result = bench.device.modify_qp(*bench.qp, attr, mask, bench.now);
    return result ? 0 : result.error().value;
  }
  int load() {
    const int result = modify(alternate_attributes(), IBV_QP_ALT_PATH);
    if (result == 0)
      bench.device.set_alternate_source_port(*bench.qp, kAlternatePort, PeerHost::kOther);
    return result;
  }
  int set(ibv_mig_state state) {
    ibv_qp_attr attr{};
    attr.path_mig_state = state;
    return modify(attr, IBV_QP_PATH_MIG_STATE);
  }
  /// MIGRATED to ARMED.
  void arm() {
    ASSERT_EQ(load(), 0);
    ASSERT_EQ(set(IBV_MIG_REARM), 0);
    ack(kSqPsn - 1, false, kPrimaryPeer, kPrimary);
    ASSERT_EQ(state(), IBV_MIG_ARMED);
  }

  ibv_qp_attr query() {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    bench.device.query_qp(*bench.qp, attr, init);
    return attr;
  }
  ibv_mig_state state() { return query().path_mig_state; }

  void ack(uint32_t psn, bool mig_req, const uint8_t* from, const uint8_t* to) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kRc, Operation::kAcknowledge);
    headers.aeth = {kAck, Msn{0}};
    receive(headers, psn, mig_req, from, to);
  }
  void send_only(uint32_t psn, bool mig_req, const uint8_t* from, const uint8_t* to) {
    Headers headers;
    headers.bth.opcode = Opcode(bench.qp->service, Operation::kSendOnly);
    headers.bth.ack_req = bench.qp->service == Service::kRc;
    receive(headers, psn, mig_req, from, to);
  }
  void receive(Headers headers, uint32_t psn, bool mig_req, const uint8_t* from,
               const uint8_t* to) {
    headers.bth.dest_qp = Qpn{Bench::kQpn};
    headers.bth.psn = Psn{psn};
    headers.bth.mig_req = mig_req;
    Flow flow;
    flow.source = Gid::from_ipv4(*reinterpret_cast<const uint8_t(*)[4]>(from));
    flow.destination = Gid::from_ipv4(*reinterpret_cast<const uint8_t(*)[4]>(to));
    bench.receive_raw(headers, flow, {});
  }

  /// What goes out: "1>2 psn 100 migreq 0", the last bytes of both networks' addresses.
  Lines sent() {
    Lines lines;
    bench.device.advance(bench.now);
    TxBatch batch(TxBatch::Limits{});
    for (bool more = true; more;) {
      batch.clear();
      more = bench.device.transmit(batch, bench.now, AckPolicy::kAll);
      for (const TxBatch::Message& message : batch.messages()) {
        const RxPacket packet{batch.bytes(message), message.flow, batch.identification(0)};
        const auto view = parse(packet);
        EXPECT_TRUE(view);
        if (!view) continue;
        const Flow& flow = message.flow;
        const Bth& bth = view->headers.bth;
        lines.push_back(line("%u>%u psn %u migreq %d", flow.source.bytes[12],
                             flow.destination.bytes[12], bth.psn.value(), bth.mig_req ? 1 : 0));
        last_port = flow.source_port;
      }
    }
    return lines;
  }

  Bench bench;
  uint16_t last_port = 0;
};

// Expect: an alternate path that finds no memory leaves the attributes and the path that was
// loaded.
TEST(PathMigration, WithoutMemoryForTheAlternatePathNothingChanges) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  ibv_qp_attr attr = alternate_attributes();
  attr.alt_timeout = 20;
  const Gid peer = Gid::from_ipv4(kThirdPeer);
  std::memcpy(attr.alt_ah_attr.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    Migration link;
    ASSERT_EQ(link.load(), 0);
    bool failed = false;
    fail_allocation(n);
    try {
      EXPECT_EQ(link.modify(attr, IBV_QP_ALT_PATH), 0);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    fail_allocation(0);
    if (!failed) {
      EXPECT_GT(n, 1) << "nothing was allocated";
      return;
    }
    EXPECT_EQ(link.bench.qp->attr.alt_timeout, kAlternateTimeout) << n;
  }
}

// Expect: without an alternate path MigReq is 1, and packets with MigReq 0 and 1 are both taken.
TEST(PathMigration, MigratedTakesBothValuesOfMigReq) {
  Migration m;
  for (const bool mig_req : {false, true}) {
    m.bench.post(IBV_WR_SEND, 0);
    const uint32_t psn = kSqPsn + (mig_req ? 1 : 0);
    EXPECT_EQ(m.sent(), (Lines{line("192>192 psn %u migreq 1", psn)}));
    m.ack(psn, mig_req, kPrimaryPeer, kPrimary);
    EXPECT_EQ(m.bench.send_statuses().size(), 1U);
  }
  EXPECT_EQ(m.state(), IBV_MIG_MIGRATED);
  EXPECT_TRUE(m.bench.events().empty());
}

// Expect: MIGRATED to REARM by modify; REARM to ARMED by a packet with MigReq 0 only. Requests and
// answers say MigReq 0 from REARM on.
TEST(PathMigration, ArmsWhenThePeerHasRearmed) {
  Migration m;
  EXPECT_EQ(m.load(), 0);
  EXPECT_EQ(m.state(), IBV_MIG_MIGRATED);
  EXPECT_EQ(m.set(IBV_MIG_REARM), 0);
  EXPECT_EQ(m.state(), IBV_MIG_REARM);
  m.bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(m.sent(), (Lines{"192>192 psn 100 migreq 0"}));
  m.ack(100, true, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.state(), IBV_MIG_REARM);
  m.bench.post_receive();
  m.send_only(kRqPsn, false, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.state(), IBV_MIG_ARMED);
  EXPECT_EQ(m.sent(), (Lines{"192>192 psn 200 migreq 0"}));
  EXPECT_TRUE(m.bench.events().empty());
}

// Expect: what may not be asked for is refused and changes nothing.
TEST(PathMigration, RefusedTransitions) {
  Migration m;
  EXPECT_EQ(m.set(IBV_MIG_REARM), EINVAL) << "no alternate path";
  EXPECT_EQ(m.set(IBV_MIG_ARMED), EINVAL) << "not for the application";
  EXPECT_EQ(m.set(static_cast<ibv_mig_state>(3)), EINVAL);
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0) << "is so already";
  EXPECT_EQ(m.load(), 0);
  EXPECT_EQ(m.set(IBV_MIG_REARM), 0);
  EXPECT_EQ(m.set(IBV_MIG_REARM), 0);
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), EINVAL) << "only from ARMED";
  EXPECT_EQ(m.state(), IBV_MIG_REARM);
  m.ack(kSqPsn - 1, false, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.set(IBV_MIG_REARM), EINVAL) << "only from MIGRATED";
  EXPECT_EQ(m.state(), IBV_MIG_ARMED);
  EXPECT_TRUE(m.bench.events().empty());
}

// Expect: an alternate path out of range is refused; nothing of it is kept.
TEST(PathMigration, AlternateRanges) {
  void (*const spoils[])(ibv_qp_attr&) = {
      [](ibv_qp_attr& a) { a.alt_ah_attr.is_global = 0; },
      [](ibv_qp_attr& a) { a.alt_ah_attr.grh.sgid_index = 2; },
      [](ibv_qp_attr& a) { a.alt_ah_attr.port_num = 2; },
      [](ibv_qp_attr& a) { a.alt_port_num = 2; },
      [](ibv_qp_attr& a) { a.alt_port_num = 0; },
      [](ibv_qp_attr& a) { a.alt_pkey_index = 1; },
      [](ibv_qp_attr& a) { a.alt_timeout = 32; },
  };
  for (const auto& spoil : spoils) {
    Migration m;
    ibv_qp_attr attr = alternate_attributes();
    spoil(attr);
    attr.path_mig_state = IBV_MIG_REARM;
    EXPECT_EQ(m.modify(attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), EINVAL) << (&spoil - spoils);
    EXPECT_EQ(m.query().alt_timeout, 0);
    EXPECT_EQ(m.state(), IBV_MIG_MIGRATED);
  }
}

// Expect: MIGRATED by modify: PATH_MIG, MigReq 1 on the alternate path, what is outstanding is sent
// again there, and the alternate path's attributes are the primary ones.
TEST(PathMigration, MigratesWhenTold) {
  Migration m;
  m.arm();
  m.bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(m.sent(), (Lines{"192>192 psn 100 migreq 0"}));
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0);
  EXPECT_EQ(m.bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_PATH_MIG}));
  EXPECT_EQ(m.sent(), (Lines{"198>198 psn 100 migreq 1"}));
  EXPECT_EQ(m.last_port, kAlternatePort);
  const ibv_qp_attr attr = m.query();
  EXPECT_EQ(attr.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(attr.timeout, kAlternateTimeout);
  EXPECT_EQ(attr.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(std::memcmp(&attr.ah_attr, &attr.alt_ah_attr, sizeof attr.ah_attr), 0);
  m.ack(100, true, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.bench.send_statuses(), Statuses{}) << "the old path is not listened to any more";
  m.ack(100, true, kSecondPeer, kSecond);
  EXPECT_EQ(m.bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: retries used up: migrates instead of failing; the retries on the alternate path are as
// many, at its own timeout; then the request fails.
TEST(PathMigration, MigratesWhenRetriesAreUsedUp) {
  BenchOptions options;
  options.connect.retry_cnt = 2;
  Migration m(options);
  m.arm();
  m.bench.post(IBV_WR_SEND, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(m.sent(), (Lines{"192>192 psn 100 migreq 0"}));
    EXPECT_TRUE(m.bench.events().empty());
    m.bench.pass(kAckTimeout * (1 << i));
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(m.sent(), (Lines{"198>198 psn 100 migreq 1"}));
    EXPECT_EQ(m.bench.send_statuses(), Statuses{});
    m.bench.pass(nanoseconds((4096 << (kAlternateTimeout + i)) - 1));
    EXPECT_EQ(m.sent(), Lines{});
    m.bench.pass(nanoseconds(1));
  }
  EXPECT_EQ(m.sent(), Lines{});
  EXPECT_EQ(m.bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_PATH_MIG}));
  EXPECT_EQ(m.bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
}

// Expect: sequence NAKs use retries up as timeouts do.
TEST(PathMigration, MigratesWhenNaksUseRetriesUp) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Migration m(options);
  m.arm();
  m.bench.post(IBV_WR_SEND, 0);
  m.sent();
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kAcknowledge);
  headers.aeth = {nak_syndrome(NakCode::kPsnSequenceError), Msn{0}};
  m.receive(headers, 100, false, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.sent(), (Lines{"198>198 psn 100 migreq 1"}));
}

// Expect: REARM is not armed: retries used up end the connection.
TEST(PathMigration, RearmDoesNotMigrate) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Migration m(options);
  EXPECT_EQ(m.load(), 0);
  EXPECT_EQ(m.set(IBV_MIG_REARM), 0);
  m.bench.post(IBV_WR_SEND, 0);
  m.sent();
  m.bench.pass(kAckTimeout);
  m.sent();
  EXPECT_EQ(m.bench.send_statuses(), (Statuses{{1, IBV_WC_RETRY_EXC_ERR}}));
  EXPECT_TRUE(m.bench.events().empty());
}

// Expect: the peer has migrated: its packet is taken, the answer goes by the alternate path, and so
// does what was outstanding.
TEST(PathMigration, FollowsThePeer) {
  Migration m;
  m.arm();
  m.bench.post(IBV_WR_SEND, 0);
  m.sent();
  m.bench.post_receive();
  m.send_only(kRqPsn, true, kSecondPeer, kSecond);
  EXPECT_EQ(m.bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_PATH_MIG}));
  EXPECT_EQ(m.state(), IBV_MIG_MIGRATED);
  EXPECT_EQ(m.bench.receive_statuses().size(), 1U);
  EXPECT_EQ(m.sent(), (Lines{"198>198 psn 200 migreq 1", "198>198 psn 100 migreq 1"}));
}

// Expect: the alternate path's packets are for armed queue pairs, and only with MigReq 1.
TEST(PathMigration, AlternatePathIsClosedOtherwise) {
  Migration m;
  EXPECT_EQ(m.load(), 0);
  m.bench.post_receive();
  m.send_only(kRqPsn, true, kSecondPeer, kSecond);
  EXPECT_EQ(m.set(IBV_MIG_REARM), 0);
  m.send_only(kRqPsn, true, kSecondPeer, kSecond);
  m.send_only(kRqPsn, false, kSecondPeer, kSecond);
  EXPECT_EQ(m.state(), IBV_MIG_REARM);
  m.ack(kSqPsn - 1, false, kPrimaryPeer, kPrimary);
  m.send_only(kRqPsn, false, kSecondPeer, kSecond);
  EXPECT_EQ(m.state(), IBV_MIG_ARMED);
  EXPECT_EQ(m.bench.receive_statuses(), Statuses{});
  EXPECT_EQ(m.bench.dropped(DropReason::kWrongPeer), 4U);
  EXPECT_TRUE(m.bench.events().empty());
}

// Expect: a migration request by another path than the alternate one is refused: PATH_MIG_ERR,
// once.
TEST(PathMigration, RefusesAnotherPath) {
  Migration m;
  m.arm();
  m.send_only(kRqPsn, true, kThirdPeer, kSecond);
  m.send_only(kRqPsn, true, kThirdPeer, kSecond);
  m.send_only(kRqPsn, true, kPrimaryPeer, kPrimary);
  EXPECT_EQ(m.bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_PATH_MIG_ERR}));
  EXPECT_EQ(m.state(), IBV_MIG_ARMED);
  EXPECT_EQ(m.sent(), Lines{});
  m.bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(m.sent(), (Lines{"192>192 psn 100 migreq 0"})) << "the connection is as it was";
}

// Expect: after a migration another path can be loaded and armed, and migrated to.
TEST(PathMigration, MigratesBack) {
  Migration m;
  m.arm();
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0);
  ibv_qp_attr back = alternate_attributes();
  back.alt_ah_attr.grh.sgid_index = 0;
  back.alt_ah_attr.grh.dgid.raw[12] = 192;
  back.alt_ah_attr.grh.dgid.raw[13] = 0;
  back.alt_ah_attr.grh.dgid.raw[14] = 2;
  back.path_mig_state = IBV_MIG_REARM;
  EXPECT_EQ(m.modify(back, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
  m.ack(kSqPsn - 1, false, kSecondPeer, kSecond);
  EXPECT_EQ(m.state(), IBV_MIG_ARMED);
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0);
  m.bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(m.sent(), (Lines{"192>192 psn 100 migreq 1"}));
}

// Expect: what is in flight counts for the path that it is on.
TEST(PathMigration, WindowsFollow) {
  Migration m;
  m.arm();
  Path& primary = *m.bench.qp->path;
  Path& alternate = *m.bench.qp->migration.path;
  ++primary.references;  // to look at it afterwards
  m.bench.post(IBV_WR_RDMA_WRITE, 64 * kMtu);
  const size_t first_window = m.sent().size();
  EXPECT_LT(first_window, 64U);
  EXPECT_GE(primary.in_flight(), primary.window());
  EXPECT_TRUE(primary.somebody_waits());
  EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0);
  EXPECT_EQ(primary.in_flight(), 0U);
  EXPECT_FALSE(primary.somebody_waits());
  EXPECT_EQ(m.sent().size(), first_window);
  EXPECT_GE(alternate.in_flight(), alternate.window());
  EXPECT_EQ(m.bench.qp->path, &alternate);
}

// 9.8.2. Expect: an unreliable connection migrates when told, and follows its peer.
TEST(PathMigration, UnreliableConnection) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  for (const bool told : {true, false}) {
    Migration m(options);
    m.bench.post_receive();
    m.bench.post_receive();
    ASSERT_EQ(m.load(), 0);
    ASSERT_EQ(m.set(IBV_MIG_REARM), 0);
    m.send_only(kRqPsn, false, kPrimaryPeer, kPrimary);
    ASSERT_EQ(m.state(), IBV_MIG_ARMED);
    if (told) {
      EXPECT_EQ(m.set(IBV_MIG_MIGRATED), 0);
    } else {
      m.send_only(kRqPsn + 1, true, kSecondPeer, kSecond);
    }
    EXPECT_EQ(m.bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_PATH_MIG}));
    EXPECT_EQ(m.bench.receive_statuses().size(), told ? 1U : 2U);
    m.bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(m.sent(), (Lines{"198>198 psn 100 migreq 1"}));
  }
}

// Expect: RESET forgets the alternate path.
TEST(PathMigration, ResetForgets) {
  Migration m;
  m.arm();
  EXPECT_EQ(m.bench.move_to(IBV_QPS_RESET), 0);
  const ibv_qp_attr attr = m.query();
  EXPECT_EQ(attr.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(attr.alt_timeout, 0);
  EXPECT_EQ(m.bench.qp->migration.path, nullptr);
}

// Expect: a queue pair that waits for room on its path survives another address vector in SQD.
TEST(PathMigration, AddressVectorChangesWhileWaitingForRoom) {
  Migration m;
  m.bench.post(IBV_WR_RDMA_WRITE, 64 * kMtu);
  const auto first = static_cast<uint32_t>(m.sent().size());
  EXPECT_EQ(m.bench.move_to(IBV_QPS_SQD), 0);
  ibv_qp_attr attr = alternate_attributes();
  attr.ah_attr = attr.alt_ah_attr;
  EXPECT_EQ(m.modify(attr, IBV_QP_AV), 0);
  m.ack(kSqPsn + first - 1, true, kSecondPeer, kSecond);
  EXPECT_EQ(m.sent().size(), 64 - first);
  m.ack(kSqPsn + 63, true, kSecondPeer, kSecond);
  EXPECT_EQ(m.bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

}  // namespace
}  // namespace urxe::test::path_migration_test
