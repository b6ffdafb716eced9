// SPDX-License-Identifier: BSD-2-Clause
// ibv_modify_qp_rate_limit(3), and the same by ibv_modify_qp(3).
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "pair.h"

namespace rc_errors {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kSize = 1 << 20;

struct RateLimit : PairTest {
  void SetUp() override {
    PairTest::SetUp();
    if (HasFatalFailure()) return;
    ibv_device_attr_ex device{};
    ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &device), 0);
    caps_ = device.packet_pacing_caps;
    if ((caps_.supported_qpts & 1U << IBV_QPT_RC) == 0) {
      GTEST_SKIP() << "the device does not pace packets";
    }
    connect();
  }

  int limit(uint32_t kbps, uint32_t burst = 0, uint16_t typical = 0) {
    ibv_qp_rate_limit_attr attr{};
    attr.rate_limit = kbps;
    attr.max_burst_sz = burst;
    attr.typical_pkt_sz = typical;
    return ibv_modify_qp_rate_limit(left_->qp.get(), &attr);
  }
  uint32_t queried() {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    EXPECT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_RATE_LIMIT, &init), 0);
    return attr.rate_limit;
  }

  /// Writes `messages` of kSize; the rate of their payload in kb/s.
  double measure(int messages) {
    Memory local(left_->pd.get(), kSize);
    Memory target(right_->pd.get(), kSize);
    const auto start = Clock::now();
    for (int i = 0; i < messages; ++i) {
      EXPECT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, local.sge(kSize), target.address(),
                          target.mr->rkey),
                0);
    }
    for (int i = 0; i < messages; ++i) expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    return 8e-3 * kSize * messages / elapsed.count();
  }

  ibv_packet_pacing_caps caps_{};
};

TEST_F(RateLimit, Capabilities) {
  EXPECT_GT(caps_.qp_rate_limit_min, 0U);
  EXPECT_GT(caps_.qp_rate_limit_max, caps_.qp_rate_limit_min);
}

TEST_F(RateLimit, RefusesWhatIsOutOfRange) {
  EXPECT_EQ(limit(caps_.qp_rate_limit_max + 1), EINVAL);
  EXPECT_EQ(limit(0, 4096), EINVAL) << "a burst of no rate";
  EXPECT_EQ(queried(), 0U);
  EXPECT_EQ(limit(caps_.qp_rate_limit_min), 0);
  EXPECT_EQ(queried(), caps_.qp_rate_limit_min);
  EXPECT_EQ(limit(caps_.qp_rate_limit_max, 16384, 1024), 0);
  EXPECT_EQ(queried(), caps_.qp_rate_limit_max);
  EXPECT_EQ(limit(0), 0);
  EXPECT_EQ(queried(), 0U);
}

TEST_F(RateLimit, NeedsAQueuePairThatSends) {
  ASSERT_EQ(modify_state(left_->qp.get(), IBV_QPS_ERR), 0);
  EXPECT_EQ(limit(1000), EINVAL);
  ASSERT_EQ(modify_state(left_->qp.get(), IBV_QPS_RESET), 0);
  EXPECT_EQ(limit(1000), EINVAL);
}

// Never faster, however the processes are scheduled: payload is less than what is paced.
TEST_F(RateLimit, IsKept) {
  for (const uint32_t kbps : {100'000U, 1'000'000U}) {
    constexpr uint32_t kBurst = 65536;
    const int messages = kbps < 500'000 ? 2 : 20;
    ASSERT_EQ(limit(kbps, kBurst), 0);
    const double rate = measure(messages);
    const double bytes = static_cast<double>(kSize) * messages;
    EXPECT_LE(rate, kbps * bytes / (bytes - kBurst));
    std::printf("%u kb/s: %.0f kb/s of payload\n", kbps, rate);
  }
}

TEST_F(RateLimit, IsLiftedUnderTraffic) {
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(limit(caps_.qp_rate_limit_min), 0);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  ASSERT_EQ(limit(0), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
}

TEST_F(RateLimit, ByModifyQp) {
  ibv_qp_attr attr{};
  attr.rate_limit = 500'000;
  ASSERT_EQ(modify(left_->qp.get(), attr, IBV_QP_RATE_LIMIT), 0);
  EXPECT_EQ(queried(), 500'000U);
  attr.rate_limit = caps_.qp_rate_limit_max + 1;
  EXPECT_EQ(modify(left_->qp.get(), attr, IBV_QP_RATE_LIMIT), EINVAL);
  EXPECT_EQ(queried(), 500'000U);
}

}  // namespace
}  // namespace rc_errors
