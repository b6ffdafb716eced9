// SPDX-License-Identifier: BSD-2-Clause
// Memory windows of both types.
#include "tests/conformance/support/fixture.h"

namespace conformance::mw_test {
namespace {

constexpr uint32_t kSize = 256;
constexpr uint32_t kOffset = 64;  // where the window begins
constexpr uint32_t kLength = 128;

/// The right side owns the windows, the left side uses them.
struct Mw : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need(device_.attr.orig_attr.max_mw > 0, "memory windows")) return;
    connect_pair();
    if (stopped()) return;
    target_ = std::make_unique<Buffer>(right_->pd, kSize, kAllAccess | IBV_ACCESS_MW_BIND);
    source_ = std::make_unique<Buffer>(left_->pd, kSize);
    source_->fill_pattern();
  }
  void TearDown() override {
    target_.reset();
    source_.reset();
    Conformance::TearDown();
  }
  bool need_type_2() {
    return need(device_.offers(IBV_DEVICE_MEM_WINDOW_TYPE_2A) ||
                    device_.offers(IBV_DEVICE_MEM_WINDOW_TYPE_2B),
                "windows of type 2");
  }
  MwPtr alloc(ibv_mw_type type) {
    MwPtr mw(ibv_alloc_mw(right_->pd, type));
    EXPECT_NE(mw, nullptr) << std::strerror(errno);
    return mw;
  }
  ibv_mw_bind_info part(unsigned access) const {
    return {target_->mr.get(), target_->address(kOffset), kLength, access};
  }
  uint64_t start() const { return target_->address(kOffset); }

  void bind2(ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info& info,
             ibv_wc_status status = IBV_WC_SUCCESS) {
    ASSERT_EQ(Send(100, IBV_WR_BIND_MW).bind(mw, rkey, info).post(right_qp()), 0);
    const ibv_wc wc = expect_completion(right_done(), 100, status);
    EXPECT_TRUE(status != IBV_WC_SUCCESS || wc.opcode == IBV_WC_BIND_MW) << wc.opcode;
  }
  void bind1(ibv_mw* mw, const ibv_mw_bind_info& info, ibv_wc_status status = IBV_WC_SUCCESS) {
    ibv_mw_bind bind{101, IBV_SEND_SIGNALED, info};
    ASSERT_EQ(ibv_bind_mw(right_qp(), mw, &bind), 0);
    expect_completion(right_done(), 101, status);
  }
  void write(uint64_t address, uint32_t rkey, ibv_wc_status status, uint32_t length = 8) {
    Send write(1, IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.data(source_->sge(0, length)).remote(address, rkey).post(left_qp()), 0);
    expect_completion(left_done(), 1, status);
  }
  void read(uint64_t address, uint32_t rkey, ibv_wc_status status) {
    Send read(2, IBV_WR_RDMA_READ);
    ASSERT_EQ(read.data(source_->sge(128, 8)).remote(address, rkey).post(left_qp()), 0);
    expect_completion(left_done(), 2, status);
  }
  bool untouched() const { return target_->bytes == std::vector<uint8_t>(kSize, 0); }

  std::unique_ptr<Buffer> target_;
  std::unique_ptr<Buffer> source_;
};

TEST_F(Mw, AllocShowsTypeAndDomain) {
  checks("ibv_alloc_mw(3)");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  EXPECT_EQ(mw->type, IBV_MW_TYPE_1);
  EXPECT_EQ(mw->pd, right_->pd);
  EXPECT_EQ(mw->context, context());
}

TEST_F(Mw, UnknownType) {
  checks("ibv_alloc_mw(3): type");
  EXPECT_EQ(MwPtr(ibv_alloc_mw(right_->pd, static_cast<ibv_mw_type>(3))), nullptr);
}

TEST_F(Mw, UnboundKeyOpensNothing) {
  checks("ibv_alloc_mw(3): the window is not bound");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  write(start(), mw->rkey, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(untouched());
}

TEST_F(Mw, Type1GivesANewKeyForEachBind) {
  checks("ibv_bind_mw(3)");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  const uint32_t unbound = mw->rkey;
  bind1(mw.get(), part(IBV_ACCESS_REMOTE_WRITE));
  const uint32_t first = mw->rkey;
  EXPECT_NE(first, unbound);
  write(start(), first, IBV_WC_SUCCESS);
  EXPECT_EQ(target_->bytes[kOffset + 1], source_->bytes[1]);
  bind1(mw.get(), part(IBV_ACCESS_REMOTE_WRITE));
  EXPECT_NE(mw->rkey, first);
  write(start(), mw->rkey, IBV_WC_SUCCESS);
  write(start(), first, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, Type1UnbindsWithLengthZero) {
  checks("ibv_bind_mw(3): a bind of length zero unbinds");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  bind1(mw.get(), part(IBV_ACCESS_REMOTE_WRITE));
  const uint32_t bound = mw->rkey;
  ibv_mw_bind_info nothing{};
  bind1(mw.get(), nothing);
  EXPECT_EQ(ibv_dereg_mr(target_->mr.get()), 0) << "no window holds the region any more";
  (void)target_->mr.release();
  write(start(), bound, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, Type1OutOfTheRegion) {
  checks("ibv_bind_mw(3); IBTA 10.6.7.2.1: the window lies within its region");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  ibv_mw_bind bind{1, IBV_SEND_SIGNALED, part(IBV_ACCESS_REMOTE_WRITE)};
  bind.bind_info.length = kSize;
  const int result = ibv_bind_mw(right_qp(), mw.get(), &bind);
  if (result != 0) {
    EXPECT_EQ(result, EINVAL);
  } else {
    expect_completion(right_done(), 1, IBV_WC_MW_BIND_ERR);
  }
}

TEST_F(Mw, NotOfADatagramQueuePair) {
  checks("ibv_bind_mw(3): the QP Transport Service Type must be either UC, RC or XRC_SEND");
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  ud.pd = right_->pd;
  Endpoint datagrams(device_, ud);
  datagrams.connect_to(0);
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  const uint32_t key = mw->rkey;
  ibv_mw_bind bind{101, IBV_SEND_SIGNALED, part(IBV_ACCESS_REMOTE_WRITE)};
  EXPECT_EQ(ibv_bind_mw(datagrams.qp.get(), mw.get(), &bind), EINVAL);
  EXPECT_EQ(mw->rkey, key);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(datagrams.send_cq.get(), 1, &wc), 0);
}

TEST_F(Mw, Type1WithUnknownRights) {
  checks("ibv_bind_mw(3): mw_access_flags");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  const uint32_t key = mw->rkey;
  ibv_mw_bind bind{101, IBV_SEND_SIGNALED, part(IBV_ACCESS_REMOTE_WRITE | 1U << 30)};
  EXPECT_EQ(ibv_bind_mw(right_qp(), mw.get(), &bind), EINVAL);
  EXPECT_EQ(mw->rkey, key);
}

TEST_F(Mw, Type1NeedsAStateThatSends) {
  checks("ibv_bind_mw(3), IBTA 10.3.1: requests are refused before RTS");
  if (!need_if_any(options().require_all, "a check of the state")) return;
  QpConfig config;
  config.pd = right_->pd;
  const Endpoint idle(device_, config);
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  const uint32_t key = mw->rkey;
  ibv_mw_bind bind{101, IBV_SEND_SIGNALED, part(IBV_ACCESS_REMOTE_WRITE)};
  EXPECT_EQ(ibv_bind_mw(idle.qp.get(), mw.get(), &bind), EINVAL);
  EXPECT_EQ(mw->rkey, key);
}

TEST_F(Mw, Type1NeedsAPlaceInTheSendQueue) {
  checks("ibv_bind_mw(3), ibv_post_send(3): ENOMEM where the queue is full");
  const uint32_t places = query(right_qp()).cap.max_send_wr;
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  ibv_mw_bind bind{101, IBV_SEND_SIGNALED, part(IBV_ACCESS_REMOTE_WRITE)};
  // A place is free again once its completion was polled.
  for (uint32_t i = 0; i < places; ++i) ASSERT_EQ(ibv_bind_mw(right_qp(), mw.get(), &bind), 0);
  const uint32_t key = mw->rkey;
  EXPECT_EQ(ibv_bind_mw(right_qp(), mw.get(), &bind), ENOMEM);
  EXPECT_EQ(mw->rkey, key);
  for (uint32_t i = 0; i < places; ++i) expect_completion(right_done(), 101);
  expect_empty(right_done());
  write(start(), key, IBV_WC_SUCCESS);
}

TEST_F(Mw, Type2TakesTheKeyOfTheRequest) {
  checks("ibv_post_send(3): IBV_WR_BIND_MW; ibv_inc_rkey(3)");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  EXPECT_EQ(key & ~0xffU, mw->rkey & ~0xffU) << "the index stays";
  EXPECT_NE(key, mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  write(start(), key, IBV_WC_SUCCESS);
  EXPECT_EQ(target_->bytes[kOffset + 1], source_->bytes[1]);
}

TEST_F(Mw, Type2TakesTheLowBitsOfTheKey) {
  checks("ibv_inc_rkey(3): the low 8 bits are the consumer's, the others the device's");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key ^ 0x12345600, part(IBV_ACCESS_REMOTE_WRITE));
  write(start(), key, IBV_WC_SUCCESS);
}

// Some devices write the new key into the handle, others leave that to the application.
TEST_F(Mw, Type2KeyInTheHandleMayBeTheNewOne) {
  checks("ibv_post_send(3): IBV_WR_BIND_MW; mw->rkey after the bind was posted");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t unbound = mw->rkey;
  const uint32_t first = ibv_inc_rkey(unbound);
  bind2(mw.get(), first, part(IBV_ACCESS_REMOTE_WRITE));
  EXPECT_TRUE(mw->rkey == unbound || mw->rkey == first);
  mw->rkey = first;
  ASSERT_EQ(Send(5, IBV_WR_LOCAL_INV).invalidate(first).post(right_qp()), 0);
  expect_completion(right_done(), 5);
  const uint32_t second = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), second, part(IBV_ACCESS_REMOTE_WRITE));
  write(start(), second, IBV_WC_SUCCESS);
}

TEST_F(Mw, Bounds) {
  checks("IBTA 10.6.7.2.1, 9.7.4.1.5: bounds of a window");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  write(start(), key, IBV_WC_SUCCESS, kLength);
  EXPECT_EQ(target_->bytes[kOffset + kLength], 0);
  EXPECT_EQ(target_->bytes[kOffset - 1], 0);
  write(start() + kLength - 7, key, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(target_->bytes[kOffset + kLength], 0);
}

TEST_F(Mw, BeforeItsStart) {
  checks("IBTA 10.6.7.2.1, 9.7.4.1.5: bounds of a window");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  write(start() - 1, key, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(untouched());
}

TEST_F(Mw, ZeroBased) {
  checks("ibv_bind_mw(3): IBV_ACCESS_ZERO_BASED");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED));
  write(8, key, IBV_WC_SUCCESS);
  EXPECT_EQ(target_->bytes[kOffset + 8], source_->bytes[0]);
  EXPECT_EQ(target_->bytes[kOffset + 7], 0);
  write(start(), key, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, RightsNarrowerThanTheRegions) {
  checks("ibv_bind_mw(3): mw_access_flags");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_READ));
  read(start(), key, IBV_WC_SUCCESS);
  write(start(), key, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(untouched());
}

TEST_F(Mw, ReadNeedsItsRight) {
  checks("ibv_bind_mw(3): mw_access_flags");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  read(start(), key, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, AtomicThroughAWindow) {
  checks("ibv_bind_mw(3): IBV_ACCESS_REMOTE_ATOMIC");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_ATOMIC));
  Send add(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  ASSERT_EQ(add.data(source_->sge(0, 8)).atomic(start(), key, 5).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  uint64_t value = 0;
  std::memcpy(&value, &target_->bytes[kOffset], sizeof value);
  EXPECT_EQ(value, 5U);
}

// A window may offer remote reads and writes of a region that itself offers neither.
TEST_F(Mw, RegionWithoutRemoteRights) {
  checks("ibv_bind_mw(3): the region needs IBV_ACCESS_MW_BIND, and LOCAL_WRITE for writes");
  if (!need_type_2()) return;
  const Buffer plain(right_->pd, kSize, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, {plain.mr.get(), plain.address(), kSize, IBV_ACCESS_REMOTE_WRITE});
  write(plain.address(), key, IBV_WC_SUCCESS);
  // The window goes before its region: unbind it.
  ASSERT_EQ(Send(5, IBV_WR_LOCAL_INV).invalidate(key).post(right_qp()), 0);
  expect_completion(right_done(), 5);
}

TEST_F(Mw, WritesNeedLocalWriteOfTheRegion) {
  checks("ibv_bind_mw(3): the region must have been registered with LOCAL_WRITE");
  if (!need_type_2()) return;
  const Buffer plain(right_->pd, kSize, IBV_ACCESS_MW_BIND);
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const ibv_mw_bind_info info{plain.mr.get(), plain.address(), kSize, IBV_ACCESS_REMOTE_WRITE};
  const int result =
      Send(100, IBV_WR_BIND_MW).bind(mw.get(), ibv_inc_rkey(mw->rkey), info).post(right_qp());
  if (result == 0) expect_completion(right_done(), 100, IBV_WC_MW_BIND_ERR);
}

TEST_F(Mw, RegionMustAllowBinding) {
  checks("ibv_bind_mw(3): IBV_ACCESS_MW_BIND");
  if (!need_type_2()) return;
  const Buffer plain(right_->pd, kSize, kAllAccess);
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const ibv_mw_bind_info info{plain.mr.get(), plain.address(), kSize, IBV_ACCESS_REMOTE_WRITE};
  const int result =
      Send(100, IBV_WR_BIND_MW).bind(mw.get(), ibv_inc_rkey(mw->rkey), info).post(right_qp());
  if (result == 0) expect_completion(right_done(), 100, IBV_WC_MW_BIND_ERR);
}

TEST_F(Mw, RegionOfAnotherDomain) {
  checks("IBTA 10.6.7.2.1: region, window and queue pair share a protection domain");
  if (!need_type_2()) return;
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), kSize, kAllAccess | IBV_ACCESS_MW_BIND);
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const ibv_mw_bind_info info{foreign.mr.get(), foreign.address(), kSize, IBV_ACCESS_REMOTE_READ};
  const int result =
      Send(100, IBV_WR_BIND_MW).bind(mw.get(), ibv_inc_rkey(mw->rkey), info).post(right_qp());
  if (result == 0) expect_completion(right_done(), 100, IBV_WC_MW_BIND_ERR);
}

TEST_F(Mw, WindowOfAnotherDomain) {
  checks("IBTA 10.6.7.2.1: region, window and queue pair share a protection domain");
  if (!need_type_2()) return;
  const PdPtr other = alloc_pd();
  const MwPtr mw(ibv_alloc_mw(other.get(), IBV_MW_TYPE_2));
  const int result = Send(100, IBV_WR_BIND_MW)
                         .bind(mw.get(), ibv_inc_rkey(mw->rkey), part(IBV_ACCESS_REMOTE_READ))
                         .post(right_qp());
  if (result == 0) expect_completion(right_done(), 100, IBV_WC_MW_BIND_ERR);
}

TEST_F(Mw, Type2BoundTwiceIsAnError) {
  checks("IBTA 10.6.7.2.2: a bound type 2 window must be invalidated before the next bind");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t first = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), first, part(IBV_ACCESS_REMOTE_READ));
  bind2(mw.get(), ibv_inc_rkey(first), part(IBV_ACCESS_REMOTE_READ), IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_ERR);
}

TEST_F(Mw, Type2InvalidatedLocally) {
  checks("ibv_post_send(3): IBV_WR_LOCAL_INV");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t first = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), first, part(IBV_ACCESS_REMOTE_WRITE));
  ASSERT_EQ(Send(5, IBV_WR_LOCAL_INV).invalidate(first).post(right_qp()), 0);
  EXPECT_EQ(expect_completion(right_done(), 5).opcode, IBV_WC_LOCAL_INV);
  const uint32_t second = ibv_inc_rkey(first);
  bind2(mw.get(), second, part(IBV_ACCESS_REMOTE_WRITE));
  write(start(), second, IBV_WC_SUCCESS);
  write(start(), first, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, Type2InvalidatedByThePeer) {
  checks("ibv_post_send(3): IBV_WR_SEND_WITH_INV; ibv_poll_cq(3): IBV_WC_WITH_INV");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  Buffer inbox(right_->pd, kSize);
  ASSERT_EQ(Recv(6).data(inbox.sge()).post(right_qp()), 0);
  Send send(7, IBV_WR_SEND_WITH_INV);
  ASSERT_EQ(send.data(source_->sge(0, 8)).invalidate(key).post(left_qp()), 0);
  expect_completion(left_done(), 7);
  const ibv_wc wc = expect_completion(right_received(), 6);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_INV, 0U);
  EXPECT_EQ(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  EXPECT_EQ(wc.invalidated_rkey, key);
  write(start(), key, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(untouched());
}

TEST_F(Mw, InvalidatingAnUnknownKeyRemotely) {
  checks("IBTA 9.9.6.3, class J: SEND with Invalidate of an R_Key that cannot be invalidated");
  Buffer inbox(right_->pd, kSize);
  ASSERT_EQ(Recv(6).data(inbox.sge()).post(right_qp()), 0);
  Send send(7, IBV_WR_SEND_WITH_INV);
  ASSERT_EQ(send.data(source_->sge(0, 8)).invalidate(0x12345678).post(left_qp()), 0);
  EXPECT_NE(next_completion(right_received()).status, IBV_WC_SUCCESS);
  // The class has no NAK: the sender's retries run out. Some devices send one.
  EXPECT_NE(next_completion(left_done()).status, IBV_WC_SUCCESS);
}

TEST_F(Mw, BindHoldsTheRegion) {
  checks("ibv_reg_mr(3): ibv_dereg_mr() fails if a window is bound to the region");
  if (!need_type_2()) return;
  MwPtr mw = alloc(IBV_MW_TYPE_2);
  bind2(mw.get(), ibv_inc_rkey(mw->rkey), part(IBV_ACCESS_REMOTE_READ));
  EXPECT_EQ(ibv_dereg_mr(target_->mr.get()), EBUSY);
  mw.reset();
  EXPECT_EQ(ibv_dereg_mr(target_->mr.release()), 0);
}

TEST_F(Mw, DeallocUnbinds) {
  checks("ibv_alloc_mw(3): ibv_dealloc_mw() unbinds");
  if (!need_type_2()) return;
  MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  mw.reset();
  write(start(), key, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(untouched());
}

TEST_F(Mw, Type2BelongsToItsQueuePair) {
  checks("IBTA 10.6.7.2.2: a type 2B window is for the queue pair that it was bound on");
  if (!need(device_.offers(IBV_DEVICE_MEM_WINDOW_TYPE_2B), "windows of type 2B")) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  bind2(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE));
  QpConfig same_domain;
  same_domain.pd = right_->pd;
  Endpoint other_right(device_, same_domain);
  Endpoint other_left(device_, QpConfig{});
  other_left.connect_to(other_right.number());
  other_right.connect_to(other_left.number());
  const Buffer source(other_left.pd, 8);
  Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(source.sge()).remote(start(), key).post(other_left.qp.get()), 0);
  expect_completion(other_left.send_cq.get(), 1, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mw, Type1ServesEveryQueuePairOfItsDomain) {
  checks("IBTA 10.6.7.2.1: a type 1 window is for its protection domain");
  const MwPtr mw = alloc(IBV_MW_TYPE_1);
  bind1(mw.get(), part(IBV_ACCESS_REMOTE_WRITE));
  QpConfig same_domain;
  same_domain.pd = right_->pd;
  Endpoint other_right(device_, same_domain);
  Endpoint other_left(device_, QpConfig{});
  other_left.connect_to(other_right.number());
  other_right.connect_to(other_left.number());
  const Buffer source(other_left.pd, 8, kAllAccess, 0x77);
  Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(source.sge()).remote(start(), mw->rkey).post(other_left.qp.get()), 0);
  expect_completion(other_left.send_cq.get(), 1);
  EXPECT_EQ(target_->bytes[kOffset], 0x77);
}

TEST_F(Mw, TypesAreNotMixedUp) {
  checks("ibv_bind_mw(3): type 1 only; ibv_post_send(3): IBV_WR_BIND_MW: type 2 only");
  if (!need_type_2()) return;
  const MwPtr type_1 = alloc(IBV_MW_TYPE_1);
  const MwPtr type_2 = alloc(IBV_MW_TYPE_2);
  Send bind(1, IBV_WR_BIND_MW);
  EXPECT_EQ(bind.bind(type_1.get(), ibv_inc_rkey(type_1->rkey), part(0)).post(right_qp()), EINVAL);
  ibv_mw_bind by_verb{1, 0, part(0)};
  EXPECT_EQ(ibv_bind_mw(right_qp(), type_2.get(), &by_verb), EINVAL);
}

TEST_F(Mw, BoundWriteOrdersWithLaterRequests) {
  checks("IBTA 10.8.3.3: a bind is done before the requests posted after it");
  if (!need_type_2()) return;
  const MwPtr mw = alloc(IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  Buffer inbox(left_->pd, 8);
  ASSERT_EQ(Recv(3).data(inbox.sge()).post(left_qp()), 0);
  ASSERT_EQ(
      Send(1, IBV_WR_BIND_MW).bind(mw.get(), key, part(IBV_ACCESS_REMOTE_WRITE)).post(right_qp()),
      0);
  ASSERT_EQ(Send(2).data(target_->sge(0, 8)).post(right_qp()), 0);
  expect_completion(left_received(), 3);  // the invitation
  write(start(), key, IBV_WC_SUCCESS);
  expect_completion(right_done(), 1);
  expect_completion(right_done(), 2);
}

}  // namespace
}  // namespace conformance::mw_test
