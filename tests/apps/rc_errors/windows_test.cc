// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: bound by work request (type 2) and by ibv_bind_mw (type 1), invalidated by the
// peer.
#include <cerrno>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;
constexpr uint32_t kHalf = kSize / 2;

using WindowPtr = std::unique_ptr<ibv_mw, verbs::Destroyer<ibv_dealloc_mw>>;

/// The right side owns the windows, the left side uses them.
struct Windows : PairTest {
  void SetUp() override {
    PairTest::SetUp();
    connect();
    target_ = std::make_unique<Memory>(right_->pd.get(), kSize,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    source_ = std::make_unique<Memory>(left_->pd.get(), kSize);
    source_->bytes.assign(kSize, 0x5a);
  }

  WindowPtr alloc(ibv_mw_type type) {
    WindowPtr window(ibv_alloc_mw(right_->pd.get(), type));
    EXPECT_NE(window, nullptr);
    return window;
  }

  /// The second half of the target.
  ibv_mw_bind_info half(unsigned access) const {
    return {target_->mr.get(), target_->address() + kHalf, kHalf, access};
  }

  int post_bind(ibv_mw* window, uint64_t id, uint32_t new_key, const ibv_mw_bind_info& info) {
    ibv_send_wr request{};
    request.wr_id = id;
    request.opcode = IBV_WR_BIND_MW;
    request.bind_mw.mw = window;
    request.bind_mw.rkey = new_key;
    request.bind_mw.bind_info = info;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(right_->qp.get(), &request, &bad);
  }

  int post_invalidate(ibv_qp* qp, ibv_wr_opcode opcode, uint64_t id, uint32_t rkey) {
    ibv_send_wr request{};
    request.wr_id = id;
    request.opcode = opcode;
    request.invalidate_rkey = rkey;
    ibv_send_wr* bad = nullptr;
    return ibv_post_send(qp, &request, &bad);
  }

  void expect_right(uint64_t id, ibv_wc_opcode opcode,
                    ibv_wc_status status = IBV_WC_SUCCESS) const {
    const ibv_wc completion = next_completion(right_->cq.get());
    EXPECT_EQ(completion.wr_id, id);
    EXPECT_EQ(completion.status, status) << ibv_wc_status_str(completion.status);
    EXPECT_EQ(completion.opcode, opcode);
  }

  /// A WRITE of the left side to the start of the window.
  void expect_write(uint32_t rkey, uint64_t address, ibv_wc_status status) {
    ASSERT_EQ(post_rdma(left_->qp.get(), 9, IBV_WR_RDMA_WRITE, source_->sge(kHalf), address, rkey),
              0);
    expect_completion(left_->cq.get(), 9, status);
  }

  std::unique_ptr<Memory> target_;
  std::unique_ptr<Memory> source_;
};

TEST_F(Windows, DeviceOffersThem) {
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(context_.get(), &attr), 0);
  EXPECT_GT(attr.max_mw, 0);
  EXPECT_NE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0U);
  EXPECT_NE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B, 0U);
}

TEST_F(Windows, Type2UntilThePeerInvalidatesIt) {
  const WindowPtr window = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(window->rkey);
  const uint64_t address = target_->address() + kHalf;
  ASSERT_EQ(post_bind(window.get(), 1, key, half(IBV_ACCESS_REMOTE_WRITE)), 0);
  expect_right(1, IBV_WC_BIND_MW);
  expect_write(key, address, IBV_WC_SUCCESS);
  std::vector<uint8_t> expected(kSize, 0);
  std::fill(expected.begin() + kHalf, expected.end(), uint8_t{0x5a});
  EXPECT_EQ(target_->bytes, expected);

  Memory inbox(right_->pd.get(), kSize);
  ASSERT_EQ(post_receive(right_->qp.get(), 2, inbox.sge(kSize)), 0);
  ASSERT_EQ(post_invalidate(left_->qp.get(), IBV_WR_SEND_WITH_INV, 3, key), 0);
  expect_completion(left_->cq.get(), 3, IBV_WC_SUCCESS);
  const ibv_wc received = next_completion(right_->cq.get());
  EXPECT_EQ(received.wr_id, 2U);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(received.invalidated_rkey, key);

  target_->bytes.assign(kSize, 0);
  expect_write(key, address, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(target_->bytes, std::vector<uint8_t>(kSize, 0));
}

TEST_F(Windows, Type2BoundAgainAfterLocalInvalidate) {
  const WindowPtr window = alloc(IBV_MW_TYPE_2);
  const uint32_t first = ibv_inc_rkey(window->rkey);
  const uint32_t second = ibv_inc_rkey(first);
  ibv_qp* qp = right_->qp.get();
  const unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED;
  ASSERT_EQ(post_bind(window.get(), 1, first, half(access)), 0);
  ASSERT_EQ(post_invalidate(qp, IBV_WR_LOCAL_INV, 2, first), 0);
  ASSERT_EQ(post_bind(window.get(), 3, second, half(access)), 0);
  expect_right(1, IBV_WC_BIND_MW);
  expect_right(2, IBV_WC_LOCAL_INV);
  expect_right(3, IBV_WC_BIND_MW);
  expect_write(second, 0, IBV_WC_SUCCESS);
  EXPECT_EQ(target_->bytes[kHalf], 0x5a);
  EXPECT_EQ(target_->bytes[kHalf - 1], 0);
  expect_write(first, 0, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, WriteNeedsTheRight) {
  const WindowPtr window = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(window->rkey);
  ASSERT_EQ(post_bind(window.get(), 1, key, half(IBV_ACCESS_REMOTE_READ)), 0);
  expect_right(1, IBV_WC_BIND_MW);
  expect_write(key, target_->address() + kHalf, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, Type1ByBindMw) {
  const WindowPtr window = alloc(IBV_MW_TYPE_1);
  ibv_mw_bind bind{};
  bind.wr_id = 1;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = half(IBV_ACCESS_REMOTE_WRITE);
  const uint32_t unbound = window->rkey;
  ASSERT_EQ(ibv_bind_mw(right_->qp.get(), window.get(), &bind), 0);
  expect_right(1, IBV_WC_BIND_MW);
  const uint32_t first = window->rkey;
  EXPECT_NE(first, unbound);
  const uint64_t address = target_->address() + kHalf;
  expect_write(first, address, IBV_WC_SUCCESS);
  EXPECT_EQ(target_->bytes[kHalf], 0x5a);

  bind.wr_id = 2;
  ASSERT_EQ(ibv_bind_mw(right_->qp.get(), window.get(), &bind), 0);
  expect_right(2, IBV_WC_BIND_MW);
  EXPECT_NE(window->rkey, first);
  expect_write(window->rkey, address, IBV_WC_SUCCESS);
  expect_write(first, address, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, TypesAreNotMixedUp) {
  const WindowPtr type_1 = alloc(IBV_MW_TYPE_1);
  const WindowPtr type_2 = alloc(IBV_MW_TYPE_2);
  EXPECT_EQ(post_bind(type_1.get(), 1, ibv_inc_rkey(type_1->rkey), half(0)), EINVAL);
  ibv_mw_bind bind{};
  bind.bind_info = half(0);
  EXPECT_EQ(ibv_bind_mw(right_->qp.get(), type_2.get(), &bind), EINVAL);
}

TEST_F(Windows, RegionMustAllowThem) {
  Memory plain(right_->pd.get(), kSize, kAllAccess);
  const WindowPtr window = alloc(IBV_MW_TYPE_2);
  const ibv_mw_bind_info info{plain.mr.get(), plain.address(), kSize, IBV_ACCESS_REMOTE_WRITE};
  ASSERT_EQ(post_bind(window.get(), 1, ibv_inc_rkey(window->rkey), info), 0);
  ASSERT_EQ(post_send(right_->qp.get(), 2, plain.sge(4)), 0);
  expect_right(1, IBV_WC_BIND_MW, IBV_WC_MW_BIND_ERR);
  expect_completion(right_->cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(right_->qp.get()), IBV_QPS_ERR);
}

TEST_F(Windows, BoundRegionIsBusy) {
  WindowPtr window = alloc(IBV_MW_TYPE_2);
  ASSERT_EQ(post_bind(window.get(), 1, ibv_inc_rkey(window->rkey), half(IBV_ACCESS_REMOTE_READ)),
            0);
  expect_right(1, IBV_WC_BIND_MW);
  EXPECT_EQ(ibv_dereg_mr(target_->mr.get()), EBUSY);
  window.reset();
  EXPECT_EQ(ibv_dereg_mr(target_->mr.release()), 0);
}

// A bind that is flushed does not spoil the window for the next one.
TEST_F(Windows, BoundAfterAFlushedBind) {
  const WindowPtr window = alloc(IBV_MW_TYPE_2);
  const uint32_t first = ibv_inc_rkey(window->rkey);
  ibv_qp* qp = right_->qp.get();
  ASSERT_EQ(modify_state(qp, IBV_QPS_ERR), 0);
  ASSERT_EQ(post_bind(window.get(), 1, first, half(IBV_ACCESS_REMOTE_WRITE)), 0);
  expect_completion(right_->cq.get(), 1, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(modify_state(qp, IBV_QPS_RESET), 0);
  to_rts(qp, settings_, gid_, left_->qp->qp_num);
  ASSERT_EQ(post_bind(window.get(), 2, first, half(IBV_ACCESS_REMOTE_WRITE)), 0);
  expect_right(2, IBV_WC_BIND_MW);
  expect_write(first, target_->address() + kHalf, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace rc_errors
