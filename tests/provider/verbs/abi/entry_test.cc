// SPDX-License-Identifier: BSD-2-Clause
// What all verbs have in common: errno, and handles that the application has garbled or destroyed.
#include "provider/verbs/abi/entry.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe::test {
namespace {

/// One object of each kind.
class EntryTest : public testing::Test {
 protected:
  /// What the test has destroyed is refused here.
  void TearDown() override {
    ops_.destroy_qp(qp_);
    ops_.dealloc_mw(mw_);
    ops_.dereg_mr(verbs_mr(mr_));
    ops_.free_dm(dm_);
    ops_.destroy_ah(ah_);
    ops_.destroy_srq(srq_);
    ops_.close_xrcd(xrcd_);
    ops_.destroy_cq(cq_);
    ops_.dealloc_td(td_);
    ops_.dealloc_pd(pd_);
  }

  OpenContext open_;
  const abi::VerbsContextOps& ops_ = open_.ops();
  ibv_pd* pd_ = open_.alloc_pd();
  ibv_td* td_ = open_.alloc_td();
  ibv_mr* mr_ = open_.reg_mr(pd_, memory_, sizeof memory_);
  ibv_mw* mw_ = open_.alloc_mw(pd_);
  ibv_dm* dm_ = open_.alloc_dm();
  ibv_ah* ah_ = open_.create_ah(pd_);
  ibv_cq* cq_ = open_.create_cq();
  ibv_srq* srq_ = open_.create_srq(pd_);
  ibv_xrcd* xrcd_ = open_.open_xrcd();
  ibv_qp* qp_ = open_.create_qp(pd_, cq_);
  char memory_[64]{};
};

struct Call {
  const char* name;
  std::function<int()> make;
};

TEST_F(EntryTest, FailingVerbsSetErrno) {
  ibv_qp_attr qp_attr{};
  qp_attr.qp_state = IBV_QPS_RTS;
  ibv_srq_attr srq_attr{.max_wr = 0, .max_sge = 0, .srq_limit = 100};
  ibv_modify_cq_attr cq_attr{.attr_mask = 0x80, .moderate = {}};
  ibv_port_attr port_attr{};
  ibv_device_attr_ex device_attr{};
  ibv_qp_rate_limit_attr rate_limit{
      .rate_limit = 1, .max_burst_sz = 0, .typical_pkt_sz = 0, .comp_mask = 8};
  ibv_ece ece{.vendor_id = 0x15b3, .options = 0, .comp_mask = 0};
  ibv_gid unicast{};
  ibv_sge sge{reinterpret_cast<uintptr_t>(memory_), sizeof memory_, mr_->lkey + 0x1000};
  ibv_send_wr send{};
  send.opcode = IBV_WR_SEND;
  ibv_recv_wr receive{};
  receive.num_sge = 100;
  receive.sg_list = &sge;
  ibv_send_wr* bad_send = nullptr;
  ibv_recv_wr* bad_receive = nullptr;
  ibv_mw_bind bind{};
  bind.bind_info.mw_access_flags = 1U << 30;
  uint32_t number = 0;
  const std::vector<Call> calls{
      {"modify_qp", [&] { return ops_.modify_qp(qp_, &qp_attr, IBV_QP_STATE); }},
      {"modify_qp_rate_limit", [&] { return ops_.modify_qp_rate_limit(qp_, &rate_limit); }},
      {"attach_mcast", [&] { return ops_.attach_mcast(qp_, &unicast, 0); }},
      {"detach_mcast", [&] { return ops_.detach_mcast(qp_, &unicast, 0); }},
      {"set_ece", [&] { return ops_.set_ece(qp_, &ece); }},
      {"post_send", [&] { return ops_.post_send(qp_, &send, &bad_send); }},
      {"post_recv", [&] { return ops_.post_recv(qp_, &receive, &bad_receive); }},
      {"post_srq_recv", [&] { return ops_.post_srq_recv(srq_, &receive, &bad_receive); }},
      {"bind_mw", [&] { return ops_.bind_mw(qp_, mw_, &bind); }},
      {"modify_srq", [&] { return ops_.modify_srq(srq_, &srq_attr, IBV_SRQ_LIMIT); }},
      {"get_srq_num", [&] { return ops_.get_srq_num(srq_, &number); }},
      {"resize_cq", [&] { return ops_.resize_cq(cq_, 0); }},
      {"modify_cq", [&] { return ops_.modify_cq(cq_, &cq_attr); }},
      {"destroy_cq", [&] { return ops_.destroy_cq(cq_); }},
      {"rereg_mr", [&] { return ops_.rereg_mr(verbs_mr(mr_), 0, nullptr, nullptr, 0, 0); }},
      {"advise_mr", [&] { return ops_.advise_mr(pd_, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1); }},
      {"dealloc_pd", [&] { return ops_.dealloc_pd(pd_); }},
      {"query_port", [&] { return ops_.query_port(open_.context(), 2, &port_attr); }},
      {"query_device_ex",
       [&] { return ops_.query_device_ex(open_.context(), nullptr, &device_attr, 8); }},
      {"memcpy_to_dm", [&] { return dm_->memcpy_to_dm(dm_, 1 << 20, memory_, 1); }},
      {"memcpy_from_dm", [&] { return dm_->memcpy_from_dm(memory_, dm_, 1 << 20, 1); }},
  };
  for (const Call& call : calls) {
    errno = 0;
    const int result = call.make();
    EXPECT_GT(result, 0) << call.name;
    EXPECT_EQ(errno, result) << call.name;
  }
}

TEST_F(EntryTest, ABatchThatFailsSetsErrno) {
  ibv_qp_init_attr_ex init{};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_cq = init.recv_cq = cq_;
  init.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  init.pd = pd_;
  init.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ibv_qp* qp = ops_.create_qp_ex(open_.context(), &init);
  ASSERT_NE(qp, nullptr);
  qp->context = open_.context();  // as libibverbs does
  auto* builders = reinterpret_cast<ibv_qp_ex*>(qp);
  errno = 0;
  builders->wr_start(builders);
  EXPECT_EQ(builders->wr_complete(builders), EINVAL);  // in RESET
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ops_.destroy_qp(qp), 0);
}

TEST_F(EntryTest, AVerbThatSucceedsKeepsErrno) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  errno = E2BIG;
  EXPECT_EQ(ops_.query_qp(qp_, &attr, 0, &init), 0);
  EXPECT_EQ(errno, E2BIG);
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  constexpr int kToInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  EXPECT_EQ(ops_.modify_qp(qp_, &attr, kToInit), 0);
  EXPECT_EQ(errno, E2BIG);
  ibv_cq* const cq = open_.create_cq();
  EXPECT_EQ(errno, E2BIG);
  ibv_qp* const qp = open_.create_qp(pd_, cq);
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(ops_.destroy_qp(qp), 0);
  EXPECT_EQ(errno, E2BIG);
  EXPECT_EQ(ops_.destroy_cq(cq), 0);
  EXPECT_EQ(errno, E2BIG);
}

ibv_xrcd* fail_as_told(ibv_context* /*context*/, int wrong) noexcept {
  return fail(wrong);
}

/// What it prints when a verb returns no object, with that errno, in a process whose memory is
/// limited.
std::string said_of(int wrong) {
  constexpr rlim_t kPlenty = RLIM_INFINITY - 1;  // a limit, but none that anything meets
  rlimit before{};
  EXPECT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limited = before;
  limited.rlim_cur = std::min(before.rlim_max, kPlenty);
  EXPECT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  testing::internal::CaptureStderr();
  OpenContext open;
  EXPECT_EQ(Entry<fail_as_told>::reporting(open.context(), wrong), nullptr);
  EXPECT_EQ(errno, wrong);
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  return testing::internal::GetCapturedStderr();
}

TEST(Entry, SaysWhichLimitKeepsItFromMakingAnObject) {
  EXPECT_NE(said_of(ENOMEM).find("ulimit -v"), std::string::npos);
  // ibv_open_xrcd(): there is no domain. Whoever starts a thread tells of too few threads.
  EXPECT_EQ(said_of(EAGAIN), "");
}

/// How to spoil the handle of one object, and the verbs that must notice.
struct Spoiled {
  const char* name;
  uint32_t* handle;  ///< null: libibverbs' structure has none
  ibv_context** context;
  std::vector<std::function<int()>> verbs;  ///< the last one destroys the object
};

class HandleTest : public EntryTest {
 protected:
  /// For verbs that return a handle.
  static int code(const void* result) { return result == nullptr ? errno : 0; }

  std::vector<Spoiled> objects() {
    return {
        {"qp",
         &qp_->handle,
         &qp_->context,
         {[this] { return ops_.modify_qp(qp_, &qp_attr_, 0); },
          [this] { return ops_.query_qp(qp_, &qp_attr_, 0, &qp_init_); },
          [this] { return ops_.destroy_qp(qp_); }}},
        {"srq",
         &srq_->handle,
         &srq_->context,
         {[this] { return ops_.query_srq(srq_, &srq_attr_); },
          [this] { return ops_.destroy_srq(srq_); }}},
        {"cq",
         &cq_->handle,
         &cq_->context,
         {[this] { return ops_.resize_cq(cq_, 32); }, [this] { return ops_.destroy_cq(cq_); }}},
        {"mr",
         &mr_->handle,
         &mr_->context,
         {[this] {
            return ops_.rereg_mr(verbs_mr(mr_), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0);
          },
          [this] { return ops_.dereg_mr(verbs_mr(mr_)); }}},
        {"mw", &mw_->handle, &mw_->context, {[this] { return ops_.dealloc_mw(mw_); }}},
        {"dm",
         &dm_->handle,
         &dm_->context,
         {[this] { return code(ops_.reg_dm_mr(pd_, dm_, 0, 1 << 20, IBV_ACCESS_ZERO_BASED)); },
          [this] { return ops_.free_dm(dm_); }}},
        {"ah", &ah_->handle, &ah_->context, {[this] { return ops_.destroy_ah(ah_); }}},
        {"xrcd", nullptr, &xrcd_->context, {[this] { return ops_.close_xrcd(xrcd_); }}},
        {"td", nullptr, &td_->context, {[this] { return ops_.dealloc_td(td_); }}},
        {"pd",
         &pd_->handle,
         &pd_->context,
         {[this] { return code(ops_.alloc_mw(pd_, IBV_MW_TYPE_1)); },
          [this] { return ops_.dealloc_pd(pd_); }}},
    };
  }

 private:
  ibv_qp_attr qp_attr_{};
  ibv_qp_init_attr qp_init_{};
  ibv_srq_attr srq_attr_{};
};

void expect_refused(const Spoiled& object, int first, int second) {
  for (const auto& verb : object.verbs) {
    errno = 0;
    const int result = verb();
    EXPECT_TRUE(result == first || result == second) << object.name << ": " << result;
    EXPECT_EQ(errno, result) << object.name;
  }
}

TEST_F(HandleTest, AGarbledNumberIsRefused) {
  for (const Spoiled& object : objects()) {
    if (object.handle == nullptr) continue;
    *object.handle ^= 0xdead0000;
    expect_refused(object, ENOENT, EINVAL);
    *object.handle ^= 0xdead0000;
    EXPECT_EQ(object.verbs.back()(), 0) << object.name;
  }
}

TEST_F(HandleTest, AnotherContextIsRefused) {
  OpenContext other;
  for (const Spoiled& object : objects()) {
    *object.context = other.context();
    expect_refused(object, EINVAL, EINVAL);
    *object.context = open_.context();
    EXPECT_EQ(object.verbs.back()(), 0) << object.name;
  }
}

TEST_F(HandleTest, ADestroyedObjectIsRefused) {
  for (const Spoiled& object : objects()) {
    EXPECT_EQ(object.verbs.back()(), 0) << object.name;
    EXPECT_EQ(*object.context, open_.context()) << object.name << ": libibverbs reads it";
    expect_refused(object, EINVAL, EINVAL);
  }
}

TEST_F(HandleTest, DestroyedObjectsCannotBeUsedToMakeOthers) {
  ibv_cq* cq = open_.create_cq();
  EXPECT_EQ(ops_.destroy_cq(cq), 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  EXPECT_EQ(code(ops_.create_qp(pd_, &init)), EINVAL);
}

TEST_F(HandleTest, ManyDestroyedObjectsAreFreed) {
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ops_.dealloc_mw(open_.alloc_mw(pd_)), 0);
  EXPECT_EQ(ops_.dealloc_mw(mw_), 0);
}

}  // namespace
}  // namespace urxe::test
