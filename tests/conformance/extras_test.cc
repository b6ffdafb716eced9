// SPDX-License-Identifier: BSD-2-Clause
// ECE, packet pacing, data in order: small families of one verb each.
#include <algorithm>
#include <atomic>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Ece : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    make_pair({}, {});
    if (stopped()) return;
    ibv_ece ece{};
    need(!is_unsupported(ibv_query_ece(left_qp(), &ece)), "ECE");
  }
};

TEST_F(Ece, QueryOfANewQueuePair) {
  checks("ibv_query_ece(3)");
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(left_qp(), &ece), 0);
}

TEST_F(Ece, WhatWasQueriedCanBeSet) {
  checks("ibv_set_ece(3)");
  ibv_ece ece{};
  ASSERT_EQ(ibv_query_ece(left_qp(), &ece), 0);
  EXPECT_EQ(ibv_set_ece(right_qp(), &ece), 0);
  left_->connect_to(right_->number());
  right_->connect_to(left_->number());
  ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE).post(left_qp()), 0);
  expect_completion(left_done(), 1);
}

TEST_F(Ece, NothingCanAlwaysBeSet) {
  checks("ibv_set_ece(3): no options");
  ibv_ece none{};
  EXPECT_EQ(ibv_set_ece(left_qp(), &none), 0);
}

TEST_F(Ece, UnknownMask) {
  checks("ibv_set_ece(3): comp_mask: EINVAL");
  ibv_ece ece{};
  ece.comp_mask = 1U << 30;
  EXPECT_EQ(ibv_set_ece(left_qp(), &ece), EINVAL);
}

TEST_F(Ece, OptionsOfAnotherVendor) {
  checks("ibv_set_ece(3): the accepted options are returned: none of another vendor's");
  ibv_ece ece{0x123456, 0xff, 0};
  const int result = ibv_set_ece(left_qp(), &ece);
  if (result == 0) {
    EXPECT_EQ(ece.options, 0U);
  } else {
    EXPECT_EQ(result, EINVAL);
  }
}

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

struct DataInOrder : PairConformance {};

TEST_F(DataInOrder, AnswersYesOrNo) {
  checks("ibv_query_qp_data_in_order(3)");
  connect_pair();
  if (stopped()) return;
  for (const auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND}) {
    const int answer = ibv_query_qp_data_in_order(left_qp(), opcode, 0);
    EXPECT_TRUE(answer == 0 || answer == 1) << opcode;
  }
}

TEST_F(DataInOrder, LastByteComesLast) {
  checks("ibv_query_qp_data_in_order(3): 1: the reader may poll for data");
  connect_pair();
  if (stopped()) return;
  if (!need_if_any(ibv_query_qp_data_in_order(right_qp(), IBV_WR_RDMA_WRITE, 0) == 1,
                   "data of a WRITE in order"))
    return;
  constexpr uint32_t kSize = 65536;
  const Buffer source(left_->pd, kSize, kAllAccess, 0xab);
  const Buffer target(right_->pd, kSize);
  for (int round = 0; round < 20; ++round) {
    auto* bytes = const_cast<uint8_t*>(target.bytes.data());
    std::memset(bytes, 0, kSize);
    Send write(1, IBV_WR_RDMA_WRITE);
    write.data(source.sge()).remote(target.address(), target.rkey());
    ASSERT_EQ(write.post(left_qp()), 0);
    const auto* last = reinterpret_cast<const volatile uint8_t*>(&bytes[kSize - 1]);
    ASSERT_TRUE(eventually([&] { return *last != 0; }));
    std::atomic_thread_fence(std::memory_order_acquire);
    EXPECT_EQ(target.bytes, source.bytes);
    expect_completion(left_done(), 1);
  }
}

}  // namespace
}  // namespace conformance
