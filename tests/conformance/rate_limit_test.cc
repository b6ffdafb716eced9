// SPDX-License-Identifier: BSD-2-Clause
// Packet pacing.
#include <algorithm>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct RateLimit : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    const ibv_packet_pacing_caps& caps = device_.attr.packet_pacing_caps;
    const bool rc = (caps.supported_qpts & (1U << IBV_QPT_RC)) != 0;
    if (!need(caps.qp_rate_limit_max > 0 && rc, "packet pacing of RC")) return;
    connect_pair();
  }
  int limit(uint32_t rate, uint32_t burst = 0, uint16_t packet = 0) {
    ibv_qp_rate_limit_attr attr{};
    attr.rate_limit = rate;
    attr.max_burst_sz = burst;
    attr.typical_pkt_sz = packet;
    return ibv_modify_qp_rate_limit(left_qp(), &attr);
  }
  const ibv_packet_pacing_caps& caps() const { return device_.attr.packet_pacing_caps; }
};

TEST_F(RateLimit, WithinTheCapabilities) {
  checks("ibv_modify_qp_rate_limit(3); ibv_query_device_ex(3): packet_pacing_caps");
  EXPECT_LE(caps().qp_rate_limit_min, caps().qp_rate_limit_max);
  EXPECT_EQ(limit(caps().qp_rate_limit_max), 0);
  EXPECT_EQ(limit(caps().qp_rate_limit_min), 0);
  EXPECT_EQ(limit(0), 0) << "no limit";
}

TEST_F(RateLimit, BeyondTheCapabilities) {
  checks("ibv_modify_qp_rate_limit(3): EINVAL");
  if (caps().qp_rate_limit_max < UINT32_MAX) {
    EXPECT_EQ(limit(caps().qp_rate_limit_max + 1), EINVAL);
  }
  if (caps().qp_rate_limit_min > 1) {
    EXPECT_EQ(limit(caps().qp_rate_limit_min - 1), EINVAL);
  }
}

TEST_F(RateLimit, DataStaysRight) {
  checks("ibv_modify_qp_rate_limit(3): rate_limit, max_burst_sz, typical_pkt_sz");
  const uint32_t rate = std::min<uint32_t>(caps().qp_rate_limit_max, 1000000);
  ASSERT_EQ(limit(std::max(rate, caps().qp_rate_limit_min)), 0);
  Buffer source(left_->pd, 100000);
  Buffer target(right_->pd, 100000);
  source.fill_pattern();
  Send write(1, IBV_WR_RDMA_WRITE);
  write.data(source.sge()).remote(target.address(), target.rkey());
  ASSERT_EQ(write.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(source.bytes, target.bytes);
}

}  // namespace
}  // namespace conformance
