// SPDX-License-Identifier: BSD-2-Clause
// ibv_modify_qp(3): every transition, what it requires, allows and refuses (IBTA vol. 1, 11.2.5.2,
// tables 91 and 93).
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "tests/transport/bench.h"
#include "transport/limits.h"

namespace urxe::test {
namespace {

constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr int kAllBits[] = {IBV_QP_CUR_STATE,
                            IBV_QP_EN_SQD_ASYNC_NOTIFY,
                            IBV_QP_ACCESS_FLAGS,
                            IBV_QP_PKEY_INDEX,
                            IBV_QP_PORT,
                            IBV_QP_QKEY,
                            IBV_QP_AV,
                            IBV_QP_PATH_MTU,
                            IBV_QP_TIMEOUT,
                            IBV_QP_RETRY_CNT,
                            IBV_QP_RNR_RETRY,
                            IBV_QP_RQ_PSN,
                            IBV_QP_MAX_QP_RD_ATOMIC,
                            IBV_QP_ALT_PATH,
                            IBV_QP_MIN_RNR_TIMER,
                            IBV_QP_SQ_PSN,
                            IBV_QP_MAX_DEST_RD_ATOMIC,
                            IBV_QP_PATH_MIG_STATE,
                            IBV_QP_CAP,
                            IBV_QP_DEST_QPN,
                            IBV_QP_RATE_LIMIT};

/// A naive second statement of the table.
struct Rule {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};
constexpr int kRtsOptional = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
                             IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr Rule kRules[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     kRtsOptional | IBV_QP_RATE_LIMIT},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, kRtsOptional | IBV_QP_RATE_LIMIT},
    {IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {IBV_QPS_SQD, IBV_QPS_RTS, 0, kRtsOptional},
    {IBV_QPS_SQD, IBV_QPS_SQD, 0,
     IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
         IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PKEY_INDEX |
         IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE},
};

std::optional<Rule> rule(ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return Rule{from, to, 0, 0};
  if (to == IBV_QPS_ERR && from != IBV_QPS_RESET) return Rule{from, to, 0, 0};
  for (const Rule& r : kRules) {
    if (r.from == from && r.to == to) return r;
  }
  return std::nullopt;
}

/// Attributes that are all in range.
ibv_qp_attr good_attributes(ibv_qp_state from, ibv_qp_state to) {
  const uint8_t peer[4] = {192, 0, 2, 2};
  sim::ConnectOptions options;
  options.destination = Gid::from_ipv4(peer);
  options.dest_qpn = Qpn{Bench::kPeerQpn};
  ibv_qp_attr attr = sim::rtr_attributes(options);
  const ibv_qp_attr rts = sim::rts_attributes(options);
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  attr.timeout = rts.timeout;
  attr.retry_cnt = rts.retry_cnt;
  attr.rnr_retry = rts.rnr_retry;
  attr.max_rd_atomic = rts.max_rd_atomic;
  attr.path_mig_state = IBV_MIG_MIGRATED;
  attr.alt_ah_attr = attr.ah_attr;
  attr.alt_port_num = 1;
  attr.alt_timeout = rts.timeout;
  attr.qp_state = to;
  attr.cur_qp_state = from;
  return attr;
}

/// A bench whose queue pair is in `state` (SQE: none, RC does not have it).
std::unique_ptr<Bench> bench_in(ibv_qp_state state) {
  auto bench = std::make_unique<Bench>();
  if (state == IBV_QPS_RTS) return bench;
  if (state == IBV_QPS_SQD || state == IBV_QPS_ERR) {
    EXPECT_EQ(bench->move_to(state), 0);
    return bench;
  }
  EXPECT_EQ(bench->move_to(IBV_QPS_RESET), 0);
  const ibv_qp_attr attr = good_attributes(IBV_QPS_RESET, IBV_QPS_INIT);
  if (state == IBV_QPS_RESET) return bench;
  EXPECT_TRUE(bench->device.modify_qp(*bench->qp, attr, sim::kInitMask, bench->now));
  if (state == IBV_QPS_INIT) return bench;
  const ibv_qp_attr rtr = good_attributes(IBV_QPS_INIT, IBV_QPS_RTR);
  EXPECT_TRUE(bench->device.modify_qp(*bench->qp, rtr, sim::kRtrMask, bench->now));
  return bench;
}

int modify(ibv_qp_state from, ibv_qp_state to, int mask) {
  const auto bench = bench_in(from);
  EXPECT_EQ(bench->qp->state(), from);
  ibv_qp_attr before{};
  ibv_qp_attr after{};
  ibv_qp_init_attr init{};
  bench->device.query_qp(*bench->qp, before, init);
  const auto result =
      bench->device.modify_qp(*bench->qp, good_attributes(from, to), mask, bench->now);
  bench->device.query_qp(*bench->qp, after, init);
  if (!result) {
    EXPECT_EQ(std::memcmp(&before, &after, sizeof after), 0) << "changed though refused";
    return result.error().value;
  }
  EXPECT_EQ(bench->qp->state(), to);
  return 0;
}

// Expect: exactly the transitions of the table, with exactly their attributes.
TEST(QpState, Table) {
  for (const ibv_qp_state from : kStates) {
    if (from == IBV_QPS_SQE) continue;
    for (const ibv_qp_state to : kStates) {
      SCOPED_TRACE("from " + std::to_string(from) + " to " + std::to_string(to));
      const auto r = rule(from, to);
      if (!r) {
        EXPECT_EQ(modify(from, to, IBV_QP_STATE), EINVAL);
        continue;
      }
      const int mask = IBV_QP_STATE | r->required;
      EXPECT_EQ(modify(from, to, mask), 0);
      for (const int bit : kAllBits) {
        SCOPED_TRACE("attribute " + std::to_string(bit));
        if ((r->required & bit) != 0) {
          EXPECT_EQ(modify(from, to, mask & ~bit), EINVAL) << "missing";
        } else if ((r->optional & bit) != 0) {
          EXPECT_EQ(modify(from, to, mask | bit), 0) << "optional";
        } else {
          EXPECT_EQ(modify(from, to, mask | bit), EINVAL) << "not allowed";
        }
      }
    }
  }
}

// Expect: cur_qp_state that is not the state is refused.
TEST(QpState, CurrentStateMustMatch) {
  Bench bench;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.cur_qp_state = IBV_QPS_SQD;
  EXPECT_FALSE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_CUR_STATE, bench.now));
}

// Expect: values out of range are refused.
TEST(QpState, Ranges) {
  const struct {
    ibv_qp_state from;
    ibv_qp_state to;
    int mask;
    void (*spoil)(ibv_qp_attr&);
  } cases[] = {
      {IBV_QPS_RESET, IBV_QPS_INIT, sim::kInitMask, [](ibv_qp_attr& a) { a.port_num = 2; }},
      {IBV_QPS_RESET, IBV_QPS_INIT, sim::kInitMask, [](ibv_qp_attr& a) { a.port_num = 0; }},
      {IBV_QPS_RESET, IBV_QPS_INIT, sim::kInitMask, [](ibv_qp_attr& a) { a.pkey_index = 1; }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask,
       [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(6); }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask,
       [](ibv_qp_attr& a) { a.path_mtu = static_cast<ibv_mtu>(0); }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask, [](ibv_qp_attr& a) { a.dest_qp_num = 1 << 24; }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask,
       [](ibv_qp_attr& a) { a.max_dest_rd_atomic = 129; }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask, [](ibv_qp_attr& a) { a.min_rnr_timer = 32; }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask, [](ibv_qp_attr& a) { a.ah_attr.is_global = 0; }},
      {IBV_QPS_INIT, IBV_QPS_RTR, sim::kRtrMask,
       [](ibv_qp_attr& a) { a.ah_attr.grh.sgid_index = 1; }},
      {IBV_QPS_RTR, IBV_QPS_RTS, sim::kRtsMask, [](ibv_qp_attr& a) { a.timeout = 32; }},
      {IBV_QPS_RTR, IBV_QPS_RTS, sim::kRtsMask, [](ibv_qp_attr& a) { a.max_rd_atomic = 129; }},
  };
  for (const auto& c : cases) {
    const auto bench = bench_in(c.from);
    ibv_qp_attr attr = good_attributes(c.from, c.to);
    c.spoil(attr);
    const auto result = bench->device.modify_qp(*bench->qp, attr, c.mask, bench->now);
    ASSERT_FALSE(result) << (&c - cases);
    EXPECT_EQ(result.error().value, EINVAL);
    EXPECT_EQ(bench->qp->state(), c.from);
  }
}

// Newer pyverbs sets the flags of FLUSH (bits 8 and 9) on every RC queue pair. Expect: access flags
// that are not known are taken, told by a query, and grant nothing.
TEST(QpState, UnknownAccessFlags) {
  Bench bench;
  ibv_qp_attr attr{};
  attr.qp_access_flags = ~unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_ACCESS_FLAGS, bench.now));
  ibv_qp_attr found{};
  ibv_qp_init_attr init{};
  bench.device.query_qp(*bench.qp, found, init);
  EXPECT_EQ(found.qp_access_flags, attr.qp_access_flags);
  bench.receive(Operation::kWriteOnly, kRqPsn,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 1), {1});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: query answers what modify set.
TEST(QpState, QueryReturnsWhatWasSet) {
  BenchOptions options;
  options.connect.timeout = 13;
  options.connect.retry_cnt = 5;
  options.connect.rnr_retry = 4;
  options.connect.min_rnr_timer = 9;
  options.connect.max_rd_atomic = 3;
  options.connect.max_dest_rd_atomic = 6;
  options.connect.access = IBV_ACCESS_REMOTE_WRITE;
  Bench bench(options);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  bench.device.query_qp(*bench.qp, attr, init);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.cur_qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attr.timeout, 13);
  EXPECT_EQ(attr.retry_cnt, 5);
  EXPECT_EQ(attr.rnr_retry, 4);
  EXPECT_EQ(attr.min_rnr_timer, 9);
  EXPECT_EQ(attr.max_rd_atomic, 3);
  EXPECT_EQ(attr.max_dest_rd_atomic, 6);
  EXPECT_EQ(attr.qp_access_flags, static_cast<unsigned>(IBV_ACCESS_REMOTE_WRITE));
  EXPECT_EQ(attr.dest_qp_num, Bench::kPeerQpn);
  EXPECT_EQ(attr.sq_psn, kSqPsn);
  EXPECT_EQ(attr.rq_psn, kRqPsn);
  EXPECT_EQ(attr.port_num, 1);
  EXPECT_EQ(attr.ah_attr.is_global, 1);
  EXPECT_EQ(attr.ah_attr.grh.dgid.raw[15], 2);
  EXPECT_GE(attr.cap.max_send_wr, 64U);
  EXPECT_GE(attr.cap.max_recv_wr, 16U);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
  EXPECT_EQ(init.sq_sig_all, 1);
}

// Expect: RESET forgets what was posted, without completions, and the queue pair can be used again.
TEST(QpState, ResetForgets) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post_receive();
  bench.sent();
  EXPECT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_FALSE(bench.device.next_deadline() && *bench.device.next_deadline() > bench.now);
  sim::ConnectOptions options = BenchOptions().connect;
  const uint8_t peer[4] = {192, 0, 2, 2};
  options.destination = Gid::from_ipv4(peer);
  options.dest_qpn = Qpn{Bench::kPeerQpn};
  options.sq_psn = 7;
  EXPECT_TRUE(sim::connect(bench.device, *bench.qp, options, bench.now));
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 7 ack len 0"}));
  bench.receive_ack(7);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

// Expect: ERR flushes both queues, in order.
TEST(QpState, ErrorFlushes) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_RDMA_READ, 8);
  bench.post_receive();
  bench.post_receive();
  bench.sent();
  EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(
      bench.send_statuses(),
      (Statuses{{1, IBV_WC_WR_FLUSH_ERR}, {2, IBV_WC_WR_FLUSH_ERR}, {3, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.receive_statuses(),
            (Statuses{{1, IBV_WC_WR_FLUSH_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: objects in use are not destroyed.
TEST(QpState, ObjectsInUse) {
  Bench bench;
  EXPECT_EQ(bench.device.destroy_cq(bench.send_cq).error().value, EBUSY);
  EXPECT_EQ(bench.device.dealloc_pd(bench.pd).error().value, EBUSY);
  bench.device.destroy_qp(bench.qp);
  EXPECT_TRUE(bench.device.destroy_cq(bench.send_cq));
  EXPECT_EQ(bench.device.dealloc_pd(bench.pd).error().value, EBUSY);
  EXPECT_TRUE(bench.device.deregister_memory(bench.local_region));
  EXPECT_TRUE(bench.device.deregister_memory(bench.target_region));
  EXPECT_TRUE(bench.device.dealloc_pd(bench.pd));
}

// The defect: a domain that its context left behind with another context's objects was never freed.
TEST(QpState, AReleasedDomainGoesWithItsLastObject) {
  Device device{DeviceConfig{}};
  std::array<uint8_t, 16> memory{};
  for (int i = 0; i <= kMaxPds; ++i) {
    const auto pd = device.alloc_pd();
    ASSERT_TRUE(pd) << i;
    const auto region = device.register_memory(*pd, memory.data(), memory.size(), 0, 0);
    ASSERT_TRUE(region) << i;
    device.release_pd(*pd);
    EXPECT_EQ(device.dealloc_pd(*pd).error().value, EBUSY);
    ASSERT_TRUE(device.deregister_memory(*region));
    EXPECT_EQ(device.dealloc_pd(*pd).error().value, EINVAL);
  }
}

}  // namespace
}  // namespace urxe::test
