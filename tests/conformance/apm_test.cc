// SPDX-License-Identifier: BSD-2-Clause
// Automatic path migration. The alternate path of these tests is the primary one once more.
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Apm : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need(device_.offers(IBV_DEVICE_AUTO_PATH_MIG), "automatic path migration")) return;
    connect_pair();
  }
  ibv_qp_attr alternate() const {
    ibv_qp_attr attr{};
    attr.alt_ah_attr = device_.own_address();
    attr.alt_ah_attr.grh.hop_limit = 42;
    attr.alt_port_num = device_.port;
    attr.alt_timeout = 17;
    attr.path_mig_state = IBV_MIG_REARM;
    return attr;
  }
  int load(ibv_qp* qp) {
    ibv_qp_attr attr = alternate();
    return ibv_modify_qp(qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
  }
  /// A message each way.
  void exchange() {
    for (Endpoint* side : {left_.get(), right_.get()}) {
      Endpoint* other = side == left_.get() ? right_.get() : left_.get();
      ASSERT_EQ(Recv(2).post(other->qp.get()), 0);
      ASSERT_EQ(Send(1).post(side->qp.get()), 0);
      expect_completion(side->send_cq.get(), 1);
      expect_completion(other->recv_cq.get(), 2);
    }
  }
  void arm_both() {
    ASSERT_EQ(load(left_qp()), 0);
    ASSERT_EQ(load(right_qp()), 0);
    ASSERT_TRUE(eventually([&] {
      exchange();
      return HasFailure() || (query(left_qp()).path_mig_state == IBV_MIG_ARMED &&
                              query(right_qp()).path_mig_state == IBV_MIG_ARMED);
    }));
  }
};

TEST_F(Apm, ANewConnectionIsMigrated) {
  checks("ibv_query_qp(3): path_mig_state; IBTA 17.2.8.1");
  EXPECT_EQ(query(left_qp()).path_mig_state, IBV_MIG_MIGRATED);
}

TEST_F(Apm, LoadedPathIsShown) {
  checks("ibv_modify_qp(3): IBV_QP_ALT_PATH; ibv_query_qp(3)");
  ASSERT_EQ(load(left_qp()), 0);
  const ibv_qp_attr found = query(left_qp());
  EXPECT_EQ(found.alt_port_num, device_.port);
  EXPECT_EQ(found.alt_timeout, 17);
  EXPECT_EQ(found.alt_ah_attr.grh.hop_limit, 42);
  EXPECT_EQ(std::memcmp(&found.alt_ah_attr.grh.dgid, &device_.gid, sizeof device_.gid), 0);
  EXPECT_EQ(found.path_mig_state, IBV_MIG_REARM);
}

TEST_F(Apm, PathsThatCannotBe) {
  checks("ibv_modify_qp(3): alt_ah_attr, alt_port_num, alt_timeout");
  const auto load_changed = [&](auto change) {
    ibv_qp_attr attr = alternate();
    change(attr);
    return ibv_modify_qp(left_qp(), &attr, IBV_QP_ALT_PATH);
  };
  EXPECT_EQ(load_changed([](ibv_qp_attr& attr) { attr.alt_port_num = 200; }), EINVAL);
  EXPECT_EQ(load_changed([](ibv_qp_attr& attr) { attr.alt_ah_attr.port_num = 0; }), EINVAL);
  EXPECT_EQ(load_changed([](ibv_qp_attr& attr) { attr.alt_timeout = 32; }), EINVAL);
  EXPECT_EQ(load_changed([](ibv_qp_attr& attr) { attr.alt_ah_attr.grh.sgid_index = 254; }), EINVAL);
}

TEST_F(Apm, ArmsOnceBothSidesAreReady) {
  checks("IBTA 17.2.8.1: REARM becomes ARMED when both sides have an alternate path");
  arm_both();
}

TEST_F(Apm, MigratesByHand) {
  checks("ibv_modify_qp(3): IBV_MIG_MIGRATED; ibv_get_async_event(3): IBV_EVENT_PATH_MIG");
  arm_both();
  if (HasFailure()) return;
  ibv_qp_attr attr{};
  attr.path_mig_state = IBV_MIG_MIGRATED;
  ASSERT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_PATH_MIG_STATE), 0);
  exchange();
  // Both learn of it, the left side perhaps not, as it asked for it.
  ibv_qp* expected = right_qp();
  ibv_async_event event = expect_event(context(), IBV_EVENT_PATH_MIG);
  if (event.element.qp == left_qp()) event = expect_event(context(), IBV_EVENT_PATH_MIG);
  EXPECT_EQ(event.element.qp, expected);
  EXPECT_EQ(query(left_qp()).path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(query(right_qp()).path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(query(left_qp()).ah_attr.grh.hop_limit, 42) << "the alternate path is the primary now";
}

TEST_F(Apm, CanBeArmedAgain) {
  checks("IBTA 17.2.8.1: a new alternate path after a migration");
  arm_both();
  if (HasFailure()) return;
  ibv_qp_attr attr{};
  attr.path_mig_state = IBV_MIG_MIGRATED;
  ASSERT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_PATH_MIG_STATE), 0);
  exchange();
  EXPECT_TRUE(eventually([&] { return query(right_qp()).path_mig_state == IBV_MIG_MIGRATED; }));
  arm_both();
}

}  // namespace
}  // namespace conformance
