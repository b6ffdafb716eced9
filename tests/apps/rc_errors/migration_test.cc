// SPDX-License-Identifier: BSD-2-Clause
// Automatic path migration: between the device's first two GIDs. URXE_TEST_CUT is a command that
// cuts the path between the first GID and itself.
#include <cerrno>
#include <cstdlib>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;
constexpr int kEventMs = 30000;
constexpr uint8_t kPrimaryTimeout = 12;  // 17 ms
constexpr uint8_t kAlternateTimeout = 14;

struct PathMigration : PairTest {
  void SetUp() override {
    PairTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_device_attr device{};
    ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
    if ((device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) == 0) {
      GTEST_SKIP() << "the device has no automatic path migration";
    }
    if (ibv_query_gid(context_.get(), kPort, 1, &second_gid_) != 0 || gid_index() != 0) {
      GTEST_SKIP() << "needs two GIDs";
    }
    Settings settings;
    settings.timeout = kPrimaryTimeout;
    settings.retry_count = 2;
    connect(settings);
    local_ = std::make_unique<Memory>(left_->pd.get(), kSize);
    target_ = std::make_unique<Memory>(right_->pd.get(), kSize);
  }

  void TearDown() override {
    local_.reset();
    target_.reset();
  }

  ibv_qp_attr alternate() const {
    ibv_qp_attr attr{};
    attr.alt_ah_attr.is_global = 1;
    attr.alt_ah_attr.port_num = kPort;
    attr.alt_ah_attr.grh.dgid = second_gid_;
    attr.alt_ah_attr.grh.sgid_index = 1;
    attr.alt_ah_attr.grh.hop_limit = 64;
    attr.alt_port_num = kPort;
    attr.alt_timeout = kAlternateTimeout;
    attr.path_mig_state = IBV_MIG_REARM;
    return attr;
  }

  static ibv_qp_attr query(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_PATH_MIG_STATE | IBV_QP_ALT_PATH | IBV_QP_AV, &init),
              0);
    return attr;
  }
  static ibv_mig_state migration_of(ibv_qp* qp) { return query(qp).path_mig_state; }

  void exchange(Side& from, Side& to) {
    ASSERT_EQ(post_receive(to.qp.get(), 5, memory_of(to).sge(kSize)), 0);
    ASSERT_EQ(post_send(from.qp.get(), 1, memory_of(from).sge(8)), 0);
    expect_completion(from.cq.get(), 1, IBV_WC_SUCCESS);
    expect_completion(to.cq.get(), 5, IBV_WC_SUCCESS);
  }
  Memory& memory_of(const Side& side) { return &side == left_.get() ? *local_ : *target_; }

  // Both sides: load and rearm; messages both ways arm them.
  void arm() {
    for (Side* side : {left_.get(), right_.get()}) {
      ASSERT_EQ(modify(side->qp.get(), alternate(), IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
      EXPECT_EQ(migration_of(side->qp.get()), IBV_MIG_REARM);
    }
    exchange(*left_, *right_);
    exchange(*right_, *left_);
    ASSERT_EQ(migration_of(left_->qp.get()), IBV_MIG_ARMED);
    ASSERT_EQ(migration_of(right_->qp.get()), IBV_MIG_ARMED);
  }

  // To cut a path is to take a GID away, which is told as well.
  void expect_migration() {
    ibv_async_event event{};
    do {
      ASSERT_TRUE(readable(context_->async_fd, kEventMs)) << "no asynchronous event came";
      ASSERT_EQ(ibv_get_async_event(context_.get(), &event), 0);
      ibv_ack_async_event(&event);
    } while (event.event_type == IBV_EVENT_GID_CHANGE);
    EXPECT_EQ(event.event_type, IBV_EVENT_PATH_MIG) << ibv_event_type_str(event.event_type);
  }

  void expect_both_migrated() {
    expect_migration();
    expect_migration();
    for (Side* side : {left_.get(), right_.get()}) {
      const ibv_qp_attr attr = query(side->qp.get());
      EXPECT_EQ(attr.path_mig_state, IBV_MIG_MIGRATED);
      EXPECT_EQ(attr.ah_attr.grh.sgid_index, 1);
      EXPECT_EQ(attr.timeout, kAlternateTimeout);
      EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
    }
  }

  ibv_gid second_gid_{};
  std::unique_ptr<Memory> local_;
  std::unique_ptr<Memory> target_;
};

TEST_F(PathMigration, QueryReturnsTheAlternatePath) {
  ASSERT_EQ(modify(left_->qp.get(), alternate(), IBV_QP_ALT_PATH), 0);
  const ibv_qp_attr attr = query(left_->qp.get());
  EXPECT_EQ(attr.path_mig_state, IBV_MIG_MIGRATED);
  EXPECT_EQ(attr.alt_ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(attr.alt_port_num, kPort);
  EXPECT_EQ(attr.alt_timeout, kAlternateTimeout);
}

TEST_F(PathMigration, RefusesWhatIsNotAllowed) {
  ibv_qp_attr attr = alternate();
  EXPECT_EQ(modify(left_->qp.get(), attr, IBV_QP_PATH_MIG_STATE), EINVAL) << "no alternate path";
  attr.path_mig_state = IBV_MIG_ARMED;
  EXPECT_EQ(modify(left_->qp.get(), attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), EINVAL);
  attr = alternate();
  attr.alt_ah_attr.grh.sgid_index = 200;
  EXPECT_EQ(modify(left_->qp.get(), attr, IBV_QP_ALT_PATH), EINVAL);
  attr = alternate();
  attr.alt_port_num = 2;
  EXPECT_EQ(modify(left_->qp.get(), attr, IBV_QP_ALT_PATH), EINVAL);
}

TEST_F(PathMigration, WhenTold) {
  arm();
  ibv_qp_attr attr{};
  attr.path_mig_state = IBV_MIG_MIGRATED;
  ASSERT_EQ(modify(left_->qp.get(), attr, IBV_QP_PATH_MIG_STATE), 0);
  exchange(*left_, *right_);
  expect_both_migrated();
  exchange(*right_, *left_);
}

// The path that has been left can be the alternate one the next time.
TEST_F(PathMigration, ThereAndBack) {
  arm();
  ibv_qp_attr told{};
  told.path_mig_state = IBV_MIG_MIGRATED;
  ASSERT_EQ(modify(right_->qp.get(), told, IBV_QP_PATH_MIG_STATE), 0);
  exchange(*right_, *left_);
  expect_both_migrated();
  ibv_qp_attr back = alternate();
  back.alt_ah_attr.grh.dgid = gid_;
  back.alt_ah_attr.grh.sgid_index = 0;
  for (Side* side : {left_.get(), right_.get()}) {
    ASSERT_EQ(modify(side->qp.get(), back, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
  }
  exchange(*left_, *right_);
  exchange(*right_, *left_);
  ASSERT_EQ(modify(left_->qp.get(), told, IBV_QP_PATH_MIG_STATE), 0);
  exchange(*left_, *right_);
  exchange(*right_, *left_);
  EXPECT_EQ(query(left_->qp.get()).ah_attr.grh.sgid_index, 0);
  EXPECT_EQ(query(right_->qp.get()).ah_attr.grh.sgid_index, 0);
}

// Traffic goes on over the alternate path; nothing is lost or fails. Last: the path stays cut.
TEST_F(PathMigration, ZWhenThePrimaryPathIsCut) {
  const char* cut = std::getenv("URXE_TEST_CUT");
  if (cut == nullptr) GTEST_SKIP() << "URXE_TEST_CUT says how to cut the primary path";
  arm();
  constexpr int kMessages = 32;
  for (uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(post_receive(right_->qp.get(), 100 + i, target_->sge(kSize)), 0);
  }
  for (uint64_t i = 0; i < kMessages; ++i) {
    if (i == kMessages / 2) {
      ASSERT_EQ(std::system(cut), 0) << cut;
    }
    ASSERT_EQ(post_send(left_->qp.get(), i, local_->sge(kSize)), 0);
  }
  for (uint64_t i = 0; i < kMessages; ++i) {
    expect_completion(left_->cq.get(), i, IBV_WC_SUCCESS);
    expect_completion(right_->cq.get(), 100 + i, IBV_WC_SUCCESS);
  }
  expect_both_migrated();
  exchange(*right_, *left_);
}

}  // namespace
}  // namespace rc_errors
