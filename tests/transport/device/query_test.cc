// SPDX-License-Identifier: BSD-2-Clause
// ibv_query_qp(3) answers what ibv_modify_qp(3) has set: every attribute that a transition takes,
// for every type, in every state.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/transport/bench.h"
#include "transport/queue_pair/qp_state.h"

namespace urxe::test::query_test {
namespace {

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
                                  IBV_QPT_XRC_RECV};
constexpr int kEveryBit = (IBV_QP_RATE_LIMIT << 1) - 1;

const uint8_t kAddress[4] = {192, 0, 2, 1};
const uint8_t kSecond[4] = {192, 0, 2, 9};

DeviceConfig config() {
  DeviceConfig config;
  config.gids = {Gid::from_ipv4(kAddress), Gid::from_ipv4(kSecond)};
  return config;
}

/// A device with one queue pair.
struct Subject {
  explicit Subject(ibv_qp_type type) : device(config()) {
    QpInit init;
    init.qpn = Qpn{0x11};
    init.pd = device.alloc_pd().value();
    init.type = type;
    init.cap = {8, 8, 1, 1, 64};
    CompletionQueue* cq = device.create_cq(16, nullptr).value();
    if (type == IBV_QPT_XRC_RECV) {
      init.domain = device.alloc_domain().value();
    } else {
      init.send_cq = cq;
      if (type != IBV_QPT_XRC_SEND) init.recv_cq = cq;
    }
    if (type == IBV_QPT_XRC_SEND) init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
    qp = device.create_qp(init).value();
  }

  ibv_qp_attr query() {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    device.query_qp(*qp, attr, init);
    return attr;
  }

  Device device;
  QueuePair* qp = nullptr;
};

ibv_ah_attr address(uint8_t step, uint8_t gid_index) {
  const uint8_t peer[4] = {198, 51, 100, step};
  ibv_ah_attr av{};
  av.is_global = 1;
  av.port_num = 1;
  av.sl = static_cast<uint8_t>(step % 8);
  av.grh.sgid_index = gid_index;
  av.grh.traffic_class = static_cast<uint8_t>(step * 4);
  av.grh.hop_limit = static_cast<uint8_t>(step + 50);
  av.grh.flow_label = 0x1000U + step;
  const Gid gid = Gid::from_ipv4(peer);
  std::memcpy(av.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
  return av;
}

/// Valid values that differ from step to step.
ibv_qp_attr values(uint8_t step, ibv_qp_state from, ibv_qp_state to) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  attr.cur_qp_state = from;
  attr.en_sqd_async_notify = 1;
  attr.qp_access_flags = step % 2 != 0 ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
  attr.port_num = 1;
  attr.qkey = 0x100U + step;
  attr.ah_attr = address(step, 0);
  attr.path_mtu = step % 2 != 0 ? IBV_MTU_1024 : IBV_MTU_512;
  attr.timeout = static_cast<uint8_t>(step + 1);
  attr.retry_cnt = static_cast<uint8_t>(step % 8);
  attr.rnr_retry = static_cast<uint8_t>((step + 1) % 8);
  attr.rq_psn = 0xfffff0U + step;
  attr.max_rd_atomic = static_cast<uint8_t>(step + 2);
  attr.alt_ah_attr = address(static_cast<uint8_t>(step + 100), 1);
  attr.alt_port_num = 1;
  attr.alt_timeout = static_cast<uint8_t>(step + 3);
  attr.min_rnr_timer = static_cast<uint8_t>(step + 4);
  attr.sq_psn = 0xffffe0U + step;
  attr.max_dest_rd_atomic = static_cast<uint8_t>(step + 5);
  attr.path_mig_state = IBV_MIG_REARM;
  attr.dest_qp_num = 0x200U + step;
  attr.rate_limit = 1000U * step;
  return attr;
}

bool same(const ibv_ah_attr& a, const ibv_ah_attr& b) {
  return std::memcmp(&a.grh.dgid, &b.grh.dgid, sizeof a.grh.dgid) == 0 &&
         a.grh.flow_label == b.grh.flow_label && a.grh.sgid_index == b.grh.sgid_index &&
         a.grh.hop_limit == b.grh.hop_limit && a.grh.traffic_class == b.grh.traffic_class &&
         a.sl == b.sl && a.is_global == b.is_global && a.port_num == b.port_num;
}

/// Which of the attributes in `mask` are not what was set.
int differences(const ibv_qp_attr& set, const ibv_qp_attr& got, int mask) {
  int different = 0;
  const auto compare = [&](int bit, bool equal) {
    if ((mask & bit) != 0 && !equal) different |= bit;
  };
  compare(IBV_QP_STATE, set.qp_state == got.qp_state && got.cur_qp_state == got.qp_state);
  compare(IBV_QP_EN_SQD_ASYNC_NOTIFY, set.en_sqd_async_notify == got.en_sqd_async_notify);
  compare(IBV_QP_ACCESS_FLAGS, set.qp_access_flags == got.qp_access_flags);
  compare(IBV_QP_PKEY_INDEX, set.pkey_index == got.pkey_index);
  compare(IBV_QP_PORT, set.port_num == got.port_num);
  compare(IBV_QP_QKEY, set.qkey == got.qkey);
  compare(IBV_QP_AV, same(set.ah_attr, got.ah_attr));
  compare(IBV_QP_PATH_MTU, set.path_mtu == got.path_mtu);
  compare(IBV_QP_TIMEOUT, set.timeout == got.timeout);
  compare(IBV_QP_RETRY_CNT, set.retry_cnt == got.retry_cnt);
  compare(IBV_QP_RNR_RETRY, set.rnr_retry == got.rnr_retry);
  compare(IBV_QP_RQ_PSN, set.rq_psn == got.rq_psn);
  compare(IBV_QP_MAX_QP_RD_ATOMIC, set.max_rd_atomic == got.max_rd_atomic);
  compare(IBV_QP_ALT_PATH,
          same(set.alt_ah_attr, got.alt_ah_attr) && set.alt_port_num == got.alt_port_num &&
              set.alt_timeout == got.alt_timeout && set.alt_pkey_index == got.alt_pkey_index);
  compare(IBV_QP_MIN_RNR_TIMER, set.min_rnr_timer == got.min_rnr_timer);
  compare(IBV_QP_SQ_PSN, set.sq_psn == got.sq_psn);
  compare(IBV_QP_MAX_DEST_RD_ATOMIC, set.max_dest_rd_atomic == got.max_dest_rd_atomic);
  compare(IBV_QP_PATH_MIG_STATE, set.path_mig_state == got.path_mig_state);
  compare(IBV_QP_DEST_QPN, set.dest_qp_num == got.dest_qp_num);
  compare(IBV_QP_RATE_LIMIT, set.rate_limit == got.rate_limit);
  return different;
}

/// Takes `from` what the bits of `mask` name.
void merge(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  to.qp_state = from.qp_state;
  const auto take = [&](int bit, auto member) {
    if ((mask & bit) != 0) to.*member = from.*member;
  };
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, &ibv_qp_attr::en_sqd_async_notify);
  take(IBV_QP_ACCESS_FLAGS, &ibv_qp_attr::qp_access_flags);
  take(IBV_QP_PORT, &ibv_qp_attr::port_num);
  take(IBV_QP_QKEY, &ibv_qp_attr::qkey);
  take(IBV_QP_AV, &ibv_qp_attr::ah_attr);
  take(IBV_QP_PATH_MTU, &ibv_qp_attr::path_mtu);
  take(IBV_QP_TIMEOUT, &ibv_qp_attr::timeout);
  take(IBV_QP_RETRY_CNT, &ibv_qp_attr::retry_cnt);
  take(IBV_QP_RNR_RETRY, &ibv_qp_attr::rnr_retry);
  take(IBV_QP_RQ_PSN, &ibv_qp_attr::rq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, &ibv_qp_attr::max_rd_atomic);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_ah_attr);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_port_num);
  take(IBV_QP_ALT_PATH, &ibv_qp_attr::alt_timeout);
  take(IBV_QP_MIN_RNR_TIMER, &ibv_qp_attr::min_rnr_timer);
  take(IBV_QP_SQ_PSN, &ibv_qp_attr::sq_psn);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, &ibv_qp_attr::max_dest_rd_atomic);
  take(IBV_QP_PATH_MIG_STATE, &ibv_qp_attr::path_mig_state);
  take(IBV_QP_DEST_QPN, &ibv_qp_attr::dest_qp_num);
  take(IBV_QP_RATE_LIMIT, &ibv_qp_attr::rate_limit);
}

constexpr ibv_qp_state kWalk[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_INIT, IBV_QPS_RTR,
                                  IBV_QPS_RTS,   IBV_QPS_RTS,  IBV_QPS_SQD,  IBV_QPS_SQD,
                                  IBV_QPS_RTS,   IBV_QPS_ERR};

// Expect: after each step all that was ever set is as it was set last, and the rest is 0.
TEST(Query, ReturnsEveryAttribute) {
  for (const ibv_qp_type type : kTypes) {
    Subject subject(type);
    ibv_qp_attr expected = subject.query();
    EXPECT_EQ(differences(ibv_qp_attr{}, expected, kEveryBit & ~IBV_QP_CAP), 0)
        << "anew; type " << type;
    for (uint8_t step = 1; step < std::size(kWalk); ++step) {
      const ibv_qp_state from = kWalk[step - 1];
      const ibv_qp_state to = kWalk[step];
      SCOPED_TRACE("type " + std::to_string(type) + ", step " + std::to_string(step));
      const TransitionMasks masks = transition_masks(type, from, to);
      const int mask = masks.required | masks.optional | IBV_QP_STATE;
      const ibv_qp_attr attr = values(step, from, to);
      ASSERT_TRUE(subject.device.modify_qp(*subject.qp, attr, mask, Instant{1}));
      merge(expected, attr, mask);
      EXPECT_EQ(differences(expected, subject.query(), kEveryBit & ~IBV_QP_CAP), 0);
      EXPECT_EQ(subject.query().sq_draining, 0);
    }
  }
}

// Expect: RESET forgets all of it, from any state.
TEST(Query, ResetForgetsEveryAttribute) {
  for (const ibv_qp_type type : kTypes) {
    for (size_t last = 1; last < std::size(kWalk); ++last) {
      Subject subject(type);
      for (size_t step = 1; step <= last; ++step) {
        const TransitionMasks masks = transition_masks(type, kWalk[step - 1], kWalk[step]);
        const ibv_qp_attr attr = values(static_cast<uint8_t>(step), kWalk[step - 1], kWalk[step]);
        ASSERT_TRUE(subject.device.modify_qp(
            *subject.qp, attr, masks.required | masks.optional | IBV_QP_STATE, Instant{1}));
      }
      EXPECT_EQ(sim::change_state(subject.device, *subject.qp, IBV_QPS_RESET, Instant{1}), 0);
      EXPECT_EQ(differences(ibv_qp_attr{}, subject.query(), kEveryBit & ~IBV_QP_CAP), 0)
          << "type " << type << " after " << last;
    }
  }
}

// 10.3.1.1. Expect: completions that nobody has taken go, too, and the rate limit.
TEST(Query, ResetForgetsCompletionsAndTheRate) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, kRqPsn, {}, {1});
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(kSqPsn);
  RateLimit limit;
  limit.rate_kbps = 1000;
  ASSERT_TRUE(bench.device.set_rate_limit(*bench.qp, limit, bench.now));
  EXPECT_TRUE(bench.qp->pacer.is_limited());
  EXPECT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_FALSE(bench.qp->pacer.is_limited());
}

ibv_qp_attr query(Bench& bench) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  bench.device.query_qp(*bench.qp, attr, init);
  return attr;
}

// 10.3.1.5. Expect: sq_draining from the moment SQD is entered with work under way until the
// event, also while none of it has been sent yet.
TEST(Query, Draining) {
  Bench bench;
  constexpr uint32_t kPackets = 64;  // more than the first window
  bench.post(IBV_WR_SEND, kPackets * kMtu);
  const auto first = static_cast<uint32_t>(bench.sent().size());
  ASSERT_LT(first, kPackets);
  EXPECT_EQ(query(bench).sq_draining, 0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
                                     bench.now));
  EXPECT_EQ(query(bench).sq_draining, 1);
  bench.receive_ack(kSqPsn + first - 1);
  EXPECT_EQ(query(bench).sq_draining, 1) << "nothing in flight, but the message is not finished";
  EXPECT_TRUE(bench.events().empty());
  EXPECT_EQ(bench.sent().size(), kPackets - first);
  bench.receive_ack(kSqPsn + kPackets - 1);
  EXPECT_EQ(query(bench).sq_draining, 0);
  EXPECT_EQ(bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_SQ_DRAINED}));
}

// Expect: no event for one who did not ask, nor later for one who asked before.
TEST(Query, DrainedIsToldOnlyWhenAsked) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
                                     bench.now));
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  bench.receive_ack(kSqPsn);
  EXPECT_TRUE(bench.events().empty());
}

// Expect: READs that are being answered outlive another max_dest_rd_atomic in SQD, and forbid one
// that has no room for them.
TEST(Query, ResponderResourcesChangeInSqd) {
  Bench bench;
  for (uint32_t i = 0; i < 3; ++i) {
    bench.receive(Operation::kReadRequest, kRqPsn + i,
                  bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8));
  }
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  ibv_qp_attr attr{};
  attr.max_dest_rd_atomic = 2;
  EXPECT_FALSE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_MAX_DEST_RD_ATOMIC, bench.now));
  attr.max_dest_rd_atomic = 3;
  EXPECT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_MAX_DEST_RD_ATOMIC, bench.now));
  EXPECT_EQ(bench.sent().size(), 3U);
  attr.max_dest_rd_atomic = 1;
  EXPECT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_MAX_DEST_RD_ATOMIC, bench.now));
  bench.receive(Operation::kReadRequest, kRqPsn + 2,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8));
  EXPECT_EQ(bench.sent().size(), 1U) << "the newest is kept for its duplicates";
}

// Expect: any number of resources works, also where the count of READs wraps.
TEST(Query, ResponderResourcesWrap) {
  BenchOptions options;
  options.connect.max_dest_rd_atomic = 3;
  Bench bench(options);
  bench.qp->responder.resource_end = UINT32_MAX - 1;
  const auto read = [&bench](uint32_t psn) {
    bench.receive(Operation::kReadRequest, psn,
                  bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8));
    return bench.sent().size();
  };
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(read(kRqPsn + i), 1U) << i;
  for (uint32_t i = 5; i < 8; ++i) EXPECT_EQ(read(kRqPsn + i), 1U) << "duplicate " << i;
  EXPECT_EQ(read(kRqPsn + 4), 0U) << "forgotten";
}

// Expect: a READ that has begun is asked for again although the limit is 0 by now.
TEST(Query, ReadGoesOnWithoutRights) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 8);
  EXPECT_EQ(bench.sent().size(), 1U);
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  ibv_qp_attr attr{};
  EXPECT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_MAX_QP_RD_ATOMIC, bench.now));
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent().size(), 1U);
}

// Expect: a connected queue pair has one peer.
TEST(Query, GroupIsNoPeer) {
  Bench bench;
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  const uint8_t group[4] = {239, 0, 0, 1};
  ibv_qp_attr attr{};
  attr.ah_attr = address(1, 0);
  EXPECT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_AV, bench.now));
  const Gid gid = Gid::from_ipv4(group);
  std::memcpy(attr.ah_attr.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
  EXPECT_FALSE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_AV, bench.now));
}

}  // namespace
}  // namespace urxe::test::query_test
