// SPDX-License-Identifier: BSD-2-Clause
// The ibv_wr_* interface: every builder and setter, abort, and what complete reports.
#include <arpa/inet.h>
#include <fcntl.h>

#include <functional>

#include "tests/conformance/support/fixture.h"

namespace conformance::wr_ex_test {
namespace {

constexpr uint32_t kSize = 4096;
constexpr uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
constexpr uint64_t kWrites = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
constexpr uint64_t kRcOperations = kSends | kWrites | IBV_QP_EX_WITH_RDMA_READ |
                                   IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                   IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
constexpr uint64_t kWindowOperations =
    IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV;

/// The left side posts by ibv_wr_*; the right side is a plain queue pair.
struct WrEx : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    pd_ = alloc_pd();
    done_ = create_cq();
    unused_ = create_cq();
    errno = 0;
    const QpPtr probe = create(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
    need(probe != nullptr || !is_unsupported(errno), "ibv_wr_*");
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    qp_.reset();
    right_.reset();
    Conformance::TearDown();
  }
  QpPtr create(ibv_qp_type type, uint64_t operations) {
    ibv_qp_init_attr_ex init{};
    init.send_cq = done_.get();
    init.recv_cq = unused_.get();
    init.cap = {16, 16, 4, 4, 64};
    if (type == IBV_QPT_XRC_SEND) init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
    init.qp_type = type;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd_.get();
    init.send_ops_flags = operations;
    errno = 0;
    return QpPtr(ibv_create_qp_ex(context(), &init));
  }
  void start(ibv_qp_type type, uint64_t operations) {
    config_.type = type;
    if (!need_type(config_)) return;
    qp_ = create(type, operations);
    ASSERT_NE(qp_, nullptr) << std::strerror(errno);
    ex_ = ibv_qp_to_qp_ex(qp_.get());
    ASSERT_NE(ex_, nullptr);
    right_ = std::make_unique<Endpoint>(device_, config_);
    connect(device_, qp_.get(), config_, right_->number());
    right_->connect_to(qp_->qp_num);
    local_ = std::make_unique<Buffer>(pd_.get(), kSize);
    remote_ = std::make_unique<Buffer>(right_->pd, kSize);
    local_->fill_pattern();
  }
  bool stopped() const { return IsSkipped() || HasFailure(); }
  void begin(uint64_t id) {
    ibv_wr_start(ex_);
    next(id);
  }
  void next(uint64_t id) {
    ex_->wr_id = id;
    ex_->wr_flags = IBV_SEND_SIGNALED;
  }
  void set_local(uint64_t offset, uint32_t size) {
    ibv_wr_set_sge(ex_, local_->mr->lkey, local_->address(offset), size);
  }
  void complete() { ASSERT_EQ(ibv_wr_complete(ex_), 0); }
  void receive(uint64_t id) { ASSERT_EQ(Recv(id).data(remote_->sge()).post(right_->qp.get()), 0); }
  ibv_wc received(uint64_t id) { return expect_completion(right_->recv_cq.get(), id); }
  ibv_wc done(uint64_t id) { return expect_completion(done_.get(), id); }
  bool same(uint32_t size) const {
    return std::memcmp(local_->bytes.data(), remote_->bytes.data(), size) == 0;
  }

  QpConfig config_;
  PdPtr pd_;
  CqPtr done_, unused_;
  QpPtr qp_;
  ibv_qp_ex* ex_ = nullptr;
  std::unique_ptr<Endpoint> right_;
  std::unique_ptr<Buffer> local_, remote_;
};

TEST_F(WrEx, Send) {
  checks("ibv_wr_post(3): ibv_wr_send, ibv_wr_set_sge");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  receive(5);
  begin(1);
  ibv_wr_send(ex_);
  set_local(0, 3000);
  complete();
  EXPECT_EQ(done(1).opcode, IBV_WC_SEND);
  EXPECT_EQ(received(5).byte_len, 3000U);
  EXPECT_TRUE(same(3000));
}

TEST_F(WrEx, SendWithImmediate) {
  checks("ibv_wr_post(3): ibv_wr_send_imm");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  receive(5);
  begin(1);
  ibv_wr_send_imm(ex_, htonl(0xfeed));
  set_local(0, 8);
  complete();
  done(1);
  const ibv_wc wc = received(5);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  EXPECT_EQ(ntohl(wc.imm_data), 0xfeedU);
}

TEST_F(WrEx, Write) {
  checks("ibv_wr_post(3): ibv_wr_rdma_write");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  set_local(0, 3000);
  complete();
  EXPECT_EQ(done(1).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_TRUE(same(3000));
}

TEST_F(WrEx, WriteWithImmediate) {
  checks("ibv_wr_post(3): ibv_wr_rdma_write_imm");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  receive(5);
  begin(1);
  ibv_wr_rdma_write_imm(ex_, remote_->rkey(), remote_->address(), htonl(3));
  set_local(0, 100);
  complete();
  done(1);
  EXPECT_EQ(received(5).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_TRUE(same(100));
}

TEST_F(WrEx, Read) {
  checks("ibv_wr_post(3): ibv_wr_rdma_read");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  remote_->fill_pattern(88);
  begin(1);
  ibv_wr_rdma_read(ex_, remote_->rkey(), remote_->address());
  set_local(0, kSize);
  complete();
  EXPECT_EQ(done(1).opcode, IBV_WC_RDMA_READ);
  EXPECT_TRUE(same(kSize));
}

TEST_F(WrEx, Atomics) {
  checks("ibv_wr_post(3): ibv_wr_atomic_fetch_add, ibv_wr_atomic_cmp_swp");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  begin(1);
  ibv_wr_atomic_fetch_add(ex_, remote_->rkey(), remote_->address(), 7);
  set_local(0, 8);
  next(2);
  ibv_wr_atomic_cmp_swp(ex_, remote_->rkey(), remote_->address(), 7, 50);
  set_local(8, 8);
  complete();
  EXPECT_EQ(done(1).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(done(2).opcode, IBV_WC_COMP_SWAP);
  uint64_t values[3] = {};
  std::memcpy(values, local_->bytes.data(), 16);
  std::memcpy(&values[2], remote_->bytes.data(), 8);
  EXPECT_EQ(values[0], 0U);
  EXPECT_EQ(values[1], 7U);
  EXPECT_EQ(values[2], 50U);
}

TEST_F(WrEx, AtomicWrite) {
  checks("ibv_wr_post(3): ibv_wr_atomic_write");
  constexpr uint64_t kOffered = 1ULL << 40;  // IB_UVERBS_DEVICE_ATOMIC_WRITE
  constexpr uint32_t kOdpOffered = 1 << 7;   // IBV_ODP_SUPPORT_ATOMIC_WRITE
  if (!need((device_.attr.device_cap_flags_ex & kOffered) != 0, "ATOMIC WRITE")) return;
  start(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_WRITE);
  if (stopped()) return;
  std::vector<std::unique_ptr<Buffer>> targets;
  targets.push_back(std::make_unique<Buffer>(right_->pd, 8));
  if ((device_.attr.odp_caps.per_transport_caps.rc_odp_caps & kOdpOffered) != 0) {
    targets.push_back(
        std::make_unique<Buffer>(right_->pd, 8, kAllAccess | unsigned{IBV_ACCESS_ON_DEMAND}));
  }
  for (const auto& target : targets) {
    const uint64_t value = 0x0102030405060708;
    begin(1);
    ibv_wr_atomic_write(ex_, target->rkey(), target->address(), &value);
    complete();
    EXPECT_EQ(done(1).opcode, IBV_WC_ATOMIC_WRITE);
    EXPECT_EQ(std::memcmp(target->bytes.data(), &value, sizeof value), 0);
  }
}

TEST_F(WrEx, ListsOfElements) {
  checks("ibv_wr_post(3): ibv_wr_set_sge_list");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  const ibv_sge parts[] = {local_->sge(0, 10), local_->sge(10, 0), local_->sge(10, 1990)};
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  ibv_wr_set_sge_list(ex_, 3, parts);
  complete();
  done(1);
  EXPECT_TRUE(same(2000));
}

TEST_F(WrEx, InlineData) {
  checks("ibv_wr_post(3): ibv_wr_set_inline_data: copied at once");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  receive(5);
  uint8_t bytes[32];
  std::memset(bytes, 0x42, sizeof bytes);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, bytes, sizeof bytes);
  std::memset(bytes, 0, sizeof bytes);
  complete();
  done(1);
  EXPECT_EQ(received(5).byte_len, 32U);
  EXPECT_EQ(remote_->bytes[0], 0x42);
  EXPECT_EQ(remote_->bytes[31], 0x42);
}

TEST_F(WrEx, InlineDataList) {
  checks("ibv_wr_post(3): ibv_wr_set_inline_data_list");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  const ibv_data_buf parts[] = {{&local_->bytes[0], 20}, {nullptr, 0}, {&local_->bytes[20], 44}};
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  ibv_wr_set_inline_data_list(ex_, 3, parts);
  complete();
  done(1);
  EXPECT_TRUE(same(64));
  EXPECT_EQ(remote_->bytes[64], 0);
}

TEST_F(WrEx, Batch) {
  checks("ibv_wr_post(3): several requests between start and complete");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  ibv_wr_start(ex_);
  for (uint64_t id = 0; id < 10; ++id) {
    next(id);
    if (id % 2 == 1) ex_->wr_flags = 0;
    ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address(id * 100));
    set_local(id * 100, 100);
  }
  complete();
  for (uint64_t id = 0; id < 10; id += 2) done(id);
  receive(5);
  begin(20);
  ibv_wr_send(ex_);
  set_local(0, 0);
  complete();
  done(20);
  received(5);
  EXPECT_TRUE(same(1000));
}

TEST_F(WrEx, NothingAtAll) {
  checks("ibv_wr_post(3): ibv_wr_complete() of an empty batch");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  ibv_wr_start(ex_);
  EXPECT_EQ(ibv_wr_complete(ex_), 0);
  expect_empty(done_.get());
}

TEST_F(WrEx, Abort) {
  checks("ibv_wr_post(3): ibv_wr_abort() discards what was prepared");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  set_local(0, 100);
  next(2);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, local_->bytes.data(), 10);
  ibv_wr_abort(ex_);
  begin(3);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address(1000));
  set_local(0, 8);
  complete();
  done(3);
  expect_empty(done_.get());
  EXPECT_EQ(remote_->bytes[1], 0);
}

TEST_F(WrEx, AbortGivesThePlacesBack) {
  checks("ibv_wr_post(3): ibv_wr_abort()");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  for (int round = 0; round < 100; ++round) {
    begin(1);
    ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
    set_local(0, 8);
    ibv_wr_abort(ex_);
  }
  begin(2);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  set_local(0, 8);
  complete();
  done(2);
}

TEST_F(WrEx, FailureAbortsAll) {
  checks("ibv_wr_post(3): a failure is returned by ibv_wr_complete(), nothing is posted");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  set_local(0, 100);
  next(2);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  const std::vector<ibv_sge> too_many(query(qp_.get()).cap.max_send_sge + 1, local_->sge(0, 1));
  ibv_wr_set_sge_list(ex_, too_many.size(), too_many.data());
  EXPECT_NE(ibv_wr_complete(ex_), 0);
  begin(3);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address(1000));
  set_local(0, 8);
  complete();
  done(3);
  expect_empty(done_.get());
  EXPECT_EQ(remote_->bytes[1], 0);
}

TEST_F(WrEx, SetterWithoutARequest) {
  checks("ibv_wr_post(3): a setter is for the request that was begun last, of this batch");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  if (!need_if_any(options().require_all, "a check of the order")) return;
  const std::function<void()> setters[] = {
      [&] { set_local(0, 8); }, [&] { ibv_wr_set_inline_data(ex_, local_->bytes.data(), 8); },
      [&] { ibv_wr_set_ud_addr(ex_, nullptr, 1, 1); }, [&] { ibv_wr_set_xrc_srqn(ex_, 1); }};
  for (const auto& set : setters) {
    ibv_wr_start(ex_);
    set();
    EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  }
  // A queue that is not empty: the request behind it is another batch's, and may wait to be sent.
  receive(5);
  begin(1);
  ibv_wr_send(ex_);
  set_local(0, 100);
  complete();
  ibv_wr_start(ex_);
  set_local(0, 8);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
  done(1);
  EXPECT_EQ(received(5).byte_len, 100U);
}

TEST_F(WrEx, InlineTooLong) {
  checks("ibv_wr_post(3), ibv_create_qp_ex(3): max_inline_data");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  std::vector<uint8_t> bytes(query(qp_.get()).cap.max_inline_data + 1, 1);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_inline_data(ex_, bytes.data(), bytes.size());
  EXPECT_NE(ibv_wr_complete(ex_), 0);
}

TEST_F(WrEx, QueueOverflow) {
  checks("ibv_wr_post(3): ibv_wr_complete() fails where the send queue is full");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  const uint32_t places = query(qp_.get()).cap.max_send_wr;
  ibv_wr_start(ex_);
  for (uint32_t i = 0; i <= places; ++i) {
    next(i);
    ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
    set_local(0, 8);
  }
  EXPECT_EQ(ibv_wr_complete(ex_), ENOMEM);
  expect_empty(done_.get());
}

TEST_F(WrEx, WrongState) {
  checks("ibv_wr_post(3), IBTA 10.3.1: a request in INIT is refused");
  qp_ = create(IBV_QPT_RC, kRcOperations);
  ASSERT_NE(qp_, nullptr);
  ex_ = ibv_qp_to_qp_ex(qp_.get());
  if (!need_if_any(options().require_all, "a check of the state")) return;
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_sge(ex_, 0, 0, 0);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(WrEx, PlainPostWorksToo) {
  checks("ibv_wr_post(3): batches of ibv_post_send() may interleave");
  start(IBV_QPT_RC, kRcOperations);
  if (stopped()) return;
  conformance::Send plain(1, IBV_WR_RDMA_WRITE);
  plain.data(local_->sge(0, 10)).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(plain.flags(IBV_SEND_SIGNALED).post(qp_.get()), 0);
  begin(2);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address(10));
  set_local(10, 10);
  complete();
  done(1);
  done(2);
  EXPECT_TRUE(same(20));
}

TEST_F(WrEx, Windows) {
  checks("ibv_wr_post(3): ibv_wr_bind_mw, ibv_wr_local_inv");
  if (!need(device_.offers(IBV_DEVICE_MEM_WINDOW_TYPE_2B), "windows of type 2")) return;
  start(IBV_QPT_RC, kRcOperations | kWindowOperations);
  if (stopped()) return;
  const Buffer bindable(pd_.get(), 64, kAllAccess | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2));
  ASSERT_NE(mw, nullptr);
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  const ibv_mw_bind_info info{bindable.mr.get(), bindable.address(), 64, IBV_ACCESS_REMOTE_WRITE};
  begin(1);
  ibv_wr_bind_mw(ex_, mw.get(), key, &info);
  complete();
  EXPECT_EQ(done(1).opcode, IBV_WC_BIND_MW);
  conformance::Send write(2, IBV_WR_RDMA_WRITE);
  write.data(remote_->sge(0, 8)).remote(bindable.address(), key);
  ASSERT_EQ(write.post(right_->qp.get()), 0);
  expect_completion(right_->send_cq.get(), 2);
  begin(3);
  ibv_wr_local_inv(ex_, key);
  complete();
  EXPECT_EQ(done(3).opcode, IBV_WC_LOCAL_INV);
}

TEST_F(WrEx, SendWithInvalidate) {
  checks("ibv_wr_post(3): ibv_wr_send_inv");
  if (!need(device_.offers(IBV_DEVICE_MEM_WINDOW_TYPE_2B), "windows of type 2")) return;
  start(IBV_QPT_RC, kRcOperations | kWindowOperations);
  if (stopped()) return;
  const Buffer bindable(right_->pd, 64, kAllAccess | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(right_->pd, IBV_MW_TYPE_2));
  const uint32_t key = ibv_inc_rkey(mw->rkey);
  const ibv_mw_bind_info info{bindable.mr.get(), bindable.address(), 64, IBV_ACCESS_REMOTE_WRITE};
  conformance::Send bind(1, IBV_WR_BIND_MW);
  ASSERT_EQ(bind.bind(mw.get(), key, info).post(right_->qp.get()), 0);
  expect_completion(right_->send_cq.get(), 1);
  receive(5);
  begin(2);
  ibv_wr_send_inv(ex_, key);
  set_local(0, 8);
  complete();
  done(2);
  const ibv_wc wc = received(5);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_INV, 0U);
  EXPECT_EQ(wc.invalidated_rkey, key);
}

TEST_F(WrEx, Uc) {
  checks("ibv_wr_post(3): UC");
  start(IBV_QPT_UC, kSends | kWrites);
  if (stopped()) return;
  receive(5);
  begin(1);
  ibv_wr_rdma_write_imm(ex_, remote_->rkey(), remote_->address(), htonl(3));
  set_local(0, 2000);
  complete();
  done(1);
  received(5);
  EXPECT_TRUE(same(2000));
}

TEST_F(WrEx, Ud) {
  checks("ibv_wr_post(3): ibv_wr_set_ud_addr");
  start(IBV_QPT_UD, kSends);
  if (stopped()) return;
  ibv_ah_attr address = device_.own_address();
  const AhPtr ah(ibv_create_ah(pd_.get(), &address));
  receive(5);
  begin(1);
  ibv_wr_send_imm(ex_, htonl(11));
  ibv_wr_set_ud_addr(ex_, ah.get(), right_->number(), config_.qkey);
  set_local(0, 100);
  complete();
  done(1);
  const ibv_wc wc = received(5);
  EXPECT_EQ(wc.byte_len, 140U);
  EXPECT_EQ(ntohl(wc.imm_data), 11U);
  EXPECT_EQ(std::memcmp(&remote_->bytes[40], local_->bytes.data(), 100), 0);
}

TEST_F(WrEx, Xrc) {
  checks("ibv_wr_post(3): ibv_wr_set_xrc_srqn");
  config_.type = IBV_QPT_XRC_SEND;
  if (!need_type(config_)) return;
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  const XrcdPtr xrcd(ibv_open_xrcd(context(), &domain));
  ASSERT_NE(xrcd, nullptr);
  const CqPtr cq = create_cq();
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 2, 0};
  init.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = pd_.get();
  init.xrcd = xrcd.get();
  init.cq = cq.get();
  const SrqPtr srq(ibv_create_srq_ex(context(), &init));
  ASSERT_NE(srq, nullptr);
  uint32_t number = 0;
  ASSERT_EQ(ibv_get_srq_num(srq.get(), &number), 0);
  QpConfig target;
  target.type = IBV_QPT_XRC_RECV;
  target.xrcd = xrcd.get();
  Endpoint tgt(device_, target);
  qp_ = create(IBV_QPT_XRC_SEND, kRcOperations);
  ASSERT_NE(qp_, nullptr) << std::strerror(errno);
  ex_ = ibv_qp_to_qp_ex(qp_.get());
  connect(device_, qp_.get(), config_, tgt.number());
  tgt.connect_to(qp_->qp_num);
  Buffer inbox(pd_.get(), 100);
  local_ = std::make_unique<Buffer>(pd_.get(), kSize);
  local_->fill_pattern();
  ASSERT_EQ(Recv(5).data(inbox.sge()).post(srq.get()), 0);
  begin(1);
  ibv_wr_send(ex_);
  ibv_wr_set_xrc_srqn(ex_, number);
  set_local(0, 50);
  complete();
  done(1);
  EXPECT_EQ(expect_completion(cq.get(), 5).byte_len, 50U);
  EXPECT_EQ(std::memcmp(inbox.bytes.data(), local_->bytes.data(), 50), 0);
}

TEST_F(WrEx, OperationsThatTheTypeDoesNotHave) {
  checks("ibv_wr_post(3): creation fails if the queue pair does not support all operations");
  EXPECT_EQ(create(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), nullptr);
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << errno;
  EXPECT_EQ(create(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ), nullptr);
  EXPECT_EQ(create(IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD), nullptr);
  EXPECT_EQ(create(IBV_QPT_RC, IBV_QP_EX_WITH_TSO), nullptr);
  EXPECT_EQ(create(IBV_QPT_RC, uint64_t{1} << 40), nullptr) << "unknown";
}

TEST_F(WrEx, OperationsThatWereNotAskedFor) {
  checks("ibv_wr_post(3): send_ops_flags: only what was asked for is there");
  if (!need_if_any(options().require_all, "a check of the operations")) return;
  start(IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
  if (stopped()) return;
  if (ex_->wr_rdma_write == nullptr) return;  // not defined: that is an answer, too
  begin(1);
  ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
  set_local(0, 8);
  EXPECT_NE(ibv_wr_complete(ex_), 0);
}

TEST_F(WrEx, PlainQueuePairIsNoExtendedOne) {
  checks("ibv_wr_post(3): ibv_qp_to_qp_ex() is for queue pairs made with send_ops_flags");
  const Endpoint plain(device_, QpConfig{});
  EXPECT_EQ(ibv_qp_to_qp_ex(plain.qp.get()), nullptr);
}

}  // namespace
}  // namespace conformance::wr_ex_test
