// SPDX-License-Identifier: BSD-2-Clause
// XRC: domains, shared receive queues, INI and TGT queue pairs.
#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/conformance/support/fixture.h"

namespace conformance::xrc_test {
namespace {

constexpr uint32_t kSize = 8192;

/// One INI queue pair, connected to one TGT queue pair, and an SRQ of its domain.
struct Xrc : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need(device_.offers(IBV_DEVICE_XRC), "XRC")) return;
    xrcd_ = open_xrcd(-1, O_CREAT);
    ASSERT_NE(xrcd_, nullptr) << std::strerror(errno);
    pd_ = alloc_pd();
    cq_ = create_cq();
    srq_ = create_srq();
    ASSERT_NE(srq_, nullptr) << std::strerror(errno);
    ASSERT_EQ(ibv_get_srq_num(srq_.get(), &srq_number_), 0);
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    ini_.reset();
    tgt_.reset();
    srq_.reset();
    Conformance::TearDown();
  }
  XrcdPtr open_xrcd(int fd, int oflags) {
    ibv_xrcd_init_attr init{};
    init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    init.fd = fd;
    init.oflags = oflags;
    errno = 0;
    return XrcdPtr(ibv_open_xrcd(context(), &init));
  }
  SrqPtr create_srq() { return create_srq(xrcd_.get()); }
  SrqPtr create_srq(ibv_xrcd* domain) {
    ibv_srq_init_attr_ex init{};
    init.attr = {16, 2, 0};
    init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ;
    init.srq_type = IBV_SRQT_XRC;
    init.pd = pd_.get();
    init.xrcd = domain;
    init.cq = cq_.get();
    return SrqPtr(ibv_create_srq_ex(context(), &init));
  }
  QpConfig tgt_config() {
    QpConfig config;
    config.type = IBV_QPT_XRC_RECV;
    config.xrcd = xrcd_.get();
    return config;
  }
  void start(QpConfig ini = {}) {
    ini.type = IBV_QPT_XRC_SEND;
    ini_ = std::make_unique<Endpoint>(device_, ini);
    tgt_ = std::make_unique<Endpoint>(device_, tgt_config());
    ASSERT_NE(ini_->qp, nullptr);
    ASSERT_NE(tgt_->qp, nullptr);
    ini_->connect_to(tgt_->number());
    tgt_->connect_to(ini_->number());
    local_ = std::make_unique<Buffer>(ini_->pd, kSize);
    remote_ = std::make_unique<Buffer>(pd_.get(), kSize);
    local_->fill_pattern();
  }
  ibv_qp* ini() { return ini_->qp.get(); }
  ibv_cq* done() { return ini_->send_cq.get(); }

  XrcdPtr xrcd_;
  PdPtr pd_;
  CqPtr cq_;  ///< the SRQ's
  SrqPtr srq_;
  uint32_t srq_number_ = 0;
  std::unique_ptr<Endpoint> ini_, tgt_;
  std::unique_ptr<Buffer> local_, remote_;
};

TEST_F(Xrc, Send) {
  checks("ibv_create_qp_ex(3): XRC_SEND, XRC_RECV; ibv_post_send(3): xrc.remote_srqn");
  start();
  for (const uint32_t size : {0U, 1U, 1024U, 1025U, 8000U}) {
    ASSERT_EQ(Recv(5).data(remote_->sge()).post(srq_.get()), 0);
    ASSERT_EQ(conformance::Send(1).data(local_->sge(0, size)).srq(srq_number_).post(ini()), 0);
    EXPECT_EQ(expect_completion(done(), 1).opcode, IBV_WC_SEND);
    const ibv_wc wc = expect_completion(cq_.get(), 5);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(wc.qp_num, tgt_->number());
    EXPECT_EQ(std::memcmp(remote_->bytes.data(), local_->bytes.data(), size), 0) << size;
  }
}

TEST_F(Xrc, SendWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_SEND_WITH_IMM on XRC_SEND");
  start();
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(srq_.get()), 0);
  conformance::Send send(1, IBV_WR_SEND_WITH_IMM);
  ASSERT_EQ(send.data(local_->sge(0, 8)).imm(77).srq(srq_number_).post(ini()), 0);
  expect_completion(done(), 1);
  const ibv_wc wc = expect_completion(cq_.get(), 5);
  EXPECT_NE(wc.wc_flags & IBV_WC_WITH_IMM, 0U);
  EXPECT_EQ(ntohl(wc.imm_data), 77U);
}

TEST_F(Xrc, WriteAndWriteWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE, _WITH_IMM on XRC_SEND");
  start();
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local_->sge(0, 5000)).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(write.srq(srq_number_).post(ini()), 0);
  expect_completion(done(), 1);
  EXPECT_EQ(std::memcmp(remote_->bytes.data(), local_->bytes.data(), 5000), 0);
  ASSERT_EQ(Recv(5).post(srq_.get()), 0);
  conformance::Send imm(2, IBV_WR_RDMA_WRITE_WITH_IMM);
  imm.data(local_->sge(0, 3000)).remote(remote_->address(5000), remote_->rkey()).imm(8);
  ASSERT_EQ(imm.srq(srq_number_).post(ini()), 0);
  expect_completion(done(), 2);
  const ibv_wc wc = expect_completion(cq_.get(), 5);
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wc.byte_len, 3000U);
}

TEST_F(Xrc, Read) {
  checks("ibv_post_send(3): IBV_WR_RDMA_READ on XRC_SEND");
  start();
  remote_->fill_pattern(77);
  conformance::Send read(1, IBV_WR_RDMA_READ);
  read.data(local_->sge()).remote(remote_->address(), remote_->rkey()).srq(srq_number_);
  ASSERT_EQ(read.post(ini()), 0);
  EXPECT_EQ(expect_completion(done(), 1).opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(local_->bytes, remote_->bytes);
}

TEST_F(Xrc, Atomics) {
  checks("ibv_post_send(3): atomics on XRC_SEND");
  start();
  conformance::Send add(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  add.data(local_->sge(0, 8)).atomic(remote_->address(), remote_->rkey(), 5).srq(srq_number_);
  ASSERT_EQ(add.post(ini()), 0);
  EXPECT_EQ(expect_completion(done(), 1).opcode, IBV_WC_FETCH_ADD);
  conformance::Send swap(2, IBV_WR_ATOMIC_CMP_AND_SWP);
  swap.data(local_->sge(8, 8)).atomic(remote_->address(), remote_->rkey(), 5, 9);
  ASSERT_EQ(swap.srq(srq_number_).post(ini()), 0);
  EXPECT_EQ(expect_completion(done(), 2).opcode, IBV_WC_COMP_SWAP);
  uint64_t values[3] = {};
  std::memcpy(values, local_->bytes.data(), 16);
  std::memcpy(&values[2], remote_->bytes.data(), 8);
  EXPECT_EQ(values[0], 0U);
  EXPECT_EQ(values[1], 5U);
  EXPECT_EQ(values[2], 9U);
}

TEST_F(Xrc, SeveralQueuesOfOneConnection) {
  checks("IBTA annex A14: each message names its SRQ");
  start();
  const SrqPtr other = create_srq();
  uint32_t other_number = 0;
  ASSERT_EQ(ibv_get_srq_num(other.get(), &other_number), 0);
  EXPECT_NE(other_number, srq_number_);
  ASSERT_EQ(Recv(5).data(remote_->sge(0, 100)).post(srq_.get()), 0);
  ASSERT_EQ(Recv(6).data(remote_->sge(100, 100)).post(other.get()), 0);
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 10)).srq(other_number).post(ini()), 0);
  expect_completion(cq_.get(), 6);
  ASSERT_EQ(conformance::Send(2).data(local_->sge(0, 10)).srq(srq_number_).post(ini()), 0);
  expect_completion(cq_.get(), 5);
  expect_completion(done(), 1);
  expect_completion(done(), 2);
}

TEST_F(Xrc, UnknownQueue) {
  checks("IBTA annex A14: a message to an SRQ that is not of the domain");
  start();
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 10)).srq(0xabcde).post(ini()), 0);
  const ibv_wc wc = next_completion(done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR ||
              wc.status == IBV_WC_REM_OP_ERR || wc.status == IBV_WC_REM_INV_RD_REQ_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Xrc, EmptyQueueIsReceiverNotReady) {
  checks("IBTA annex A14: RNR NAK where the SRQ is empty");
  QpConfig hasty = impatient();
  hasty.timeout = 14;
  start(hasty);
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 10)).srq(srq_number_).post(ini()), 0);
  expect_completion(done(), 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(Xrc, InitiatorHasNoReceiveQueue) {
  checks("ibv_create_qp_ex(3), ibv_post_recv(3): XRC_SEND");
  start();
  EXPECT_NE(Recv(1).data(local_->sge()).post(ini()), 0);
}

TEST_F(Xrc, TargetHasNoQueues) {
  checks("ibv_create_qp_ex(3): XRC_RECV takes no requests");
  start();
  EXPECT_NE(Recv(1).post(tgt_->qp.get()), 0);
  EXPECT_NE(conformance::Send(1).post(tgt_->qp.get()), 0);
}

TEST_F(Xrc, RemoteKeyOfAnotherDomain) {
  checks("IBTA annex A14: keys are checked against the SRQ's protection domain");
  start();
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), 64);
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local_->sge(0, 8)).remote(foreign.address(), foreign.rkey()).srq(srq_number_);
  ASSERT_EQ(write.post(ini()), 0);
  expect_completion(done(), 1, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(foreign.bytes[1], 0);
}

TEST_F(Xrc, QueueNeedsItsParts) {
  checks("ibv_create_srq_ex(3): an XRC SRQ needs xrcd and cq");
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 2, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = pd_.get();
  EXPECT_EQ(SrqPtr(ibv_create_srq_ex(context(), &init)), nullptr);
}

TEST_F(Xrc, ObjectsOfAnotherContext) {
  checks("ibv_create_srq_ex(3), ibv_create_qp_ex(3), ibv_open_qp(3): objects of one context");
  if (!need_if_any(options().require_all, "a check of the context")) return;
  const Device second = Device::open();
  const PdPtr pd(ibv_alloc_pd(second.context.get()));
  const CqPtr cq(ibv_create_cq(second.context.get(), 16, nullptr, nullptr, 0));
  ibv_xrcd_init_attr domain{};
  domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  domain.fd = -1;
  domain.oflags = O_CREAT;
  const XrcdPtr xrcd(ibv_open_xrcd(second.context.get(), &domain));
  ASSERT_NE(xrcd, nullptr) << std::strerror(errno);
  ibv_srq_init_attr_ex right{};
  right.attr = {16, 2, 0};
  right.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  right.srq_type = IBV_SRQT_XRC;
  right.pd = pd_.get();
  right.xrcd = xrcd_.get();
  right.cq = cq_.get();
  const auto refuse = [this](ibv_srq_init_attr_ex init, const char* what) {
    errno = 0;
    EXPECT_EQ(SrqPtr(ibv_create_srq_ex(context(), &init)), nullptr) << what;
    EXPECT_EQ(errno, EINVAL) << what;
  };
  ibv_srq_init_attr_ex init = right;
  init.pd = pd.get();
  refuse(init, "pd");
  init = right;
  init.xrcd = xrcd.get();
  refuse(init, "xrcd");
  init = right;
  init.cq = cq.get();
  refuse(init, "cq");
  init = right;
  init.comp_mask &= ~uint32_t{IBV_SRQ_INIT_ATTR_PD};
  refuse(init, "no pd");
  ibv_qp_init_attr_ex target{};
  target.qp_type = IBV_QPT_XRC_RECV;
  target.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  target.xrcd = xrcd.get();
  errno = 0;
  EXPECT_EQ(QpPtr(ibv_create_qp_ex(context(), &target)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  start();
  ibv_qp_open_attr open{};
  open.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  open.qp_num = tgt_->number();
  open.xrcd = xrcd.get();
  open.qp_type = IBV_QPT_XRC_RECV;
  errno = 0;
  EXPECT_EQ(QpPtr(ibv_open_qp(context(), &open)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  open.xrcd = xrcd_.get();
  open.comp_mask &= ~uint32_t{IBV_QP_OPEN_ATTR_NUM};
  errno = 0;
  EXPECT_EQ(QpPtr(ibv_open_qp(context(), &open)), nullptr) << "no number";
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Xrc, QueueIsNotForOtherTransports) {
  checks("ibv_create_qp(3): srq: an XRC SRQ is for XRC only");
  if (!need_if_any(options().require_all, "a check of the type")) return;
  const CqPtr cq = create_cq();
  QpConfig rc;
  rc.srq = srq_.get();
  EXPECT_EQ(QpPtr(Endpoint::create(device_, rc, pd_.get(), cq.get(), cq.get())), nullptr);
}

TEST_F(Xrc, BasicQueueByTheExtendedVerb) {
  checks("ibv_create_srq_ex(3): IBV_SRQT_BASIC");
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 2, 0};
  init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  init.srq_type = IBV_SRQT_BASIC;
  init.pd = pd_.get();
  const SrqPtr srq(ibv_create_srq_ex(context(), &init));
  ASSERT_NE(srq, nullptr) << std::strerror(errno);
  EXPECT_GE(init.attr.max_wr, 16U);
}

TEST_F(Xrc, DomainIsBusy) {
  checks("ibv_open_xrcd(3): ibv_close_xrcd() may fail if anything is still associated");
  EXPECT_EQ(ibv_close_xrcd(xrcd_.get()), EBUSY);
}

TEST_F(Xrc, DomainOfAnInode) {
  checks("ibv_open_xrcd(3): fd, O_CREAT, O_EXCL");
  char path[] = "/tmp/urxe_conformance_XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(open_xrcd(fd, 0), nullptr) << "there is none";
  const XrcdPtr first = open_xrcd(fd, O_CREAT);
  EXPECT_NE(first, nullptr) << std::strerror(errno);
  const XrcdPtr second = open_xrcd(fd, 0);
  EXPECT_NE(second, nullptr) << std::strerror(errno);
  const XrcdPtr third = open_xrcd(fd, O_CREAT);
  EXPECT_NE(third, nullptr) << std::strerror(errno);
  EXPECT_EQ(open_xrcd(fd, O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ::close(fd);
  ::unlink(path);
}

TEST_F(Xrc, DomainOfAnInodeLivesAsLongAsAnyHandle) {
  checks("ibv_open_xrcd(3): ibv_close_xrcd() ends the domain with its last handle");
  char path[] = "/tmp/urxe_conformance_XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  XrcdPtr first = open_xrcd(fd, O_CREAT);
  const XrcdPtr second = open_xrcd(fd, 0);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  first.reset();
  EXPECT_NE(open_xrcd(fd, 0), nullptr) << "it is there: " << std::strerror(errno);
  EXPECT_NE(create_srq(second.get()), nullptr) << std::strerror(errno);
  ::close(fd);
  ::unlink(path);
}

TEST_F(Xrc, AnonymousDomainsDiffer) {
  checks("ibv_open_xrcd(3): fd of -1: no inode, so each is one of its own");
  start();
  const XrcdPtr other = open_xrcd(-1, O_CREAT);
  ASSERT_NE(other, nullptr) << std::strerror(errno);
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = tgt_->number();
  attr.xrcd = other.get();
  attr.qp_type = IBV_QPT_XRC_RECV;
  EXPECT_EQ(QpPtr(ibv_open_qp(context(), &attr)), nullptr);
}

TEST_F(Xrc, QueueOfAnotherDomainCannotBeReached) {
  checks("IBTA annex A14: the SRQ must be of the TGT queue pair's domain");
  const XrcdPtr other = open_xrcd(-1, O_CREAT);
  ASSERT_NE(other, nullptr) << std::strerror(errno);
  const SrqPtr foreign = create_srq(other.get());
  ASSERT_NE(foreign, nullptr);
  uint32_t number = 0;
  ASSERT_EQ(ibv_get_srq_num(foreign.get(), &number), 0);
  start();
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(foreign.get()), 0);
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 8)).srq(number).post(ini()), 0);
  EXPECT_NE(next_completion(done()).status, IBV_WC_SUCCESS);
  expect_empty(cq_.get());
}

TEST_F(Xrc, OpenTarget) {
  checks("ibv_open_qp(3)");
  start();
  int mark = 0;
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_CONTEXT |
                   IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = tgt_->number();
  attr.xrcd = xrcd_.get();
  attr.qp_context = &mark;
  attr.qp_type = IBV_QPT_XRC_RECV;
  QpPtr opened(ibv_open_qp(context(), &attr));
  ASSERT_NE(opened, nullptr) << std::strerror(errno);
  EXPECT_EQ(opened->qp_num, tgt_->number());
  EXPECT_EQ(opened->qp_context, &mark);
  EXPECT_EQ(state_of(opened.get()), IBV_QPS_RTS);
  // The queue pair lives while anybody has it open.
  tgt_->qp.reset();
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(srq_.get()), 0);
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 8)).srq(srq_number_).post(ini()), 0);
  expect_completion(done(), 1);
  expect_completion(cq_.get(), 5);
}

TEST_F(Xrc, OpenWhatIsNotThere) {
  checks("ibv_open_qp(3): fails if there is no such queue pair in the domain");
  start();
  ibv_qp_open_attr attr{};
  attr.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  attr.qp_num = tgt_->number() ^ 0x155;
  attr.xrcd = xrcd_.get();
  attr.qp_type = IBV_QPT_XRC_RECV;
  EXPECT_EQ(QpPtr(ibv_open_qp(context(), &attr)), nullptr);
  // And it must be of that domain.
  const XrcdPtr other = open_xrcd(-1, O_CREAT);
  attr.qp_num = tgt_->number();
  attr.xrcd = other.get();
  EXPECT_EQ(QpPtr(ibv_open_qp(context(), &attr)), nullptr);
}

TEST_F(Xrc, LimitEvent) {
  checks("ibv_modify_srq(3): IBV_SRQ_LIMIT of an XRC SRQ");
  start();
  for (uint64_t id = 0; id < 3; ++id) ASSERT_EQ(Recv(id).post(srq_.get()), 0);
  ibv_srq_attr attr{};
  attr.srq_limit = 3;
  ASSERT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_LIMIT), 0);
  ASSERT_EQ(conformance::Send(1).srq(srq_number_).post(ini()), 0);
  expect_completion(cq_.get(), 0);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_SRQ_LIMIT_REACHED).element.srq, srq_.get());
}

}  // namespace
}  // namespace conformance::xrc_test
