// SPDX-License-Identifier: BSD-2-Clause
// Extended completion queues: iterators, every member, timestamps, moderation.
#include <arpa/inet.h>
#include <time.h>

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "tests/conformance/support/call.h"
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

constexpr uint32_t kSize = 256;
constexpr uint64_t kStandard = IBV_WC_STANDARD_FLAGS;

uint64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

/// The right side receives into an extended queue, the left side sends from one.
struct CqEx : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    ibv_cq_init_attr_ex init = attributes(kStandard);
    errno = 0;
    const CqPtr probe = create(init);
    need(probe != nullptr || !is_unsupported(errno), "extended completion queues");
  }
  void TearDown() override {
    inbox_.reset();
    source_.reset();
    left_.reset();
    right_.reset();
    sent_.reset();
    received_.reset();
    plain_.reset();
    Conformance::TearDown();
  }
  static ibv_cq_init_attr_ex attributes(uint64_t wc_flags) {
    ibv_cq_init_attr_ex init{};
    init.cqe = 64;
    init.wc_flags = wc_flags;
    return init;
  }
  CqPtr create(ibv_cq_init_attr_ex& init) {
    ibv_cq_ex* made = ibv_create_cq_ex(context(), &init);
    return CqPtr(made != nullptr ? ibv_cq_ex_to_cq(made) : nullptr);
  }
  static ibv_cq_ex* ex(const CqPtr& cq) { return reinterpret_cast<ibv_cq_ex*>(cq.get()); }

  void connect_with(ibv_cq_init_attr_ex init) {
    sent_ = create(init);
    ASSERT_NE(sent_, nullptr) << std::strerror(errno);
    received_ = create(init);
    ASSERT_NE(received_, nullptr);
    plain_ = create_cq();
    pd_ = alloc_pd();
    left_.reset(Endpoint::create(device_, config_, pd_.get(), sent_.get(), plain_.get()));
    right_.reset(Endpoint::create(device_, config_, pd_.get(), plain_.get(), received_.get()));
    ASSERT_NE(left_, nullptr);
    ASSERT_NE(right_, nullptr);
    connect(device_, left_.get(), config_, right_->qp_num);
    connect(device_, right_.get(), config_, left_->qp_num);
    source_ = std::make_unique<Buffer>(pd_.get(), kSize);
    inbox_ = std::make_unique<Buffer>(pd_.get(), kSize);
  }
  int start_poll(const CqPtr& cq) {
    ibv_poll_cq_attr attr{};
    int result = 0;
    EXPECT_TRUE(eventually([&] {
      result = ibv_start_poll(ex(cq), &attr);
      return result != ENOENT;
    }));
    return result;
  }
  void exchange(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(Recv(static_cast<uint64_t>(100 + i)).data(inbox_->sge()).post(right_.get()), 0);
      Send send(static_cast<uint64_t>(i), IBV_WR_SEND_WITH_IMM);
      ASSERT_EQ(send.data(source_->sge(0, 8)).imm(static_cast<uint32_t>(i)).post(left_.get()), 0);
    }
  }

  QpConfig config_;
  PdPtr pd_;
  CqPtr sent_, received_, plain_;
  QpPtr left_, right_;
  std::unique_ptr<Buffer> source_, inbox_;
};

TEST_F(CqEx, MembersAreWhatWasAsked) {
  checks("ibv_create_cq_ex(3)");
  int mark = 0;
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.cq_context = &mark;
  init.cqe = 77;
  const CqPtr cq = create(init);
  ASSERT_NE(cq, nullptr);
  EXPECT_GE(cq->cqe, 77);
  EXPECT_EQ(cq->cq_context, &mark);
  EXPECT_EQ(cq->context, context());
}

TEST_F(CqEx, EmptyQueue) {
  checks("ibv_create_cq_ex(3): ibv_start_poll() returns ENOENT");
  ibv_cq_init_attr_ex init = attributes(kStandard);
  const CqPtr cq = create(init);
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(ex(cq), &attr), ENOENT);
  EXPECT_EQ(ibv_start_poll(ex(cq), &attr), ENOENT) << "and stays as it was";
}

TEST_F(CqEx, UnknownPollMask) {
  checks("ibv_create_cq_ex(3): ibv_start_poll(): attr->comp_mask");
  ibv_cq_init_attr_ex init = attributes(kStandard);
  const CqPtr cq = create(init);
  ibv_poll_cq_attr attr{};
  attr.comp_mask = 1U << 31;
  EXPECT_EQ(ibv_start_poll(ex(cq), &attr), EINVAL);
}

TEST_F(CqEx, StandardMembersOfAReceive) {
  checks("ibv_create_cq_ex(3): ibv_wc_read_*()");
  connect_with(attributes(kStandard));
  exchange(1);
  ASSERT_EQ(start_poll(received_), 0);
  ibv_cq_ex* cq = ex(received_);
  EXPECT_EQ(cq->wr_id, 100U);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(cq), 8U);
  EXPECT_EQ(ntohl(ibv_wc_read_imm_data(cq)), 0U);
  EXPECT_EQ(ibv_wc_read_qp_num(cq), right_->qp_num);
  EXPECT_EQ(ibv_wc_read_wc_flags(cq), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_vendor_err(cq), 0U);
  (void)ibv_wc_read_src_qp(cq);  // for datagrams; but it can be read
  (void)ibv_wc_read_slid(cq);
  (void)ibv_wc_read_sl(cq);
  (void)ibv_wc_read_dlid_path_bits(cq);
  EXPECT_EQ(ibv_next_poll(cq), ENOENT);
  ibv_end_poll(cq);
}

TEST_F(CqEx, StandardMembersOfASend) {
  checks("ibv_create_cq_ex(3): ibv_wc_read_*()");
  connect_with(attributes(kStandard));
  exchange(1);
  ASSERT_EQ(start_poll(sent_), 0);
  ibv_cq_ex* cq = ex(sent_);
  EXPECT_EQ(cq->wr_id, 0U);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_SEND);
  EXPECT_EQ(ibv_wc_read_qp_num(cq), left_->qp_num);
  ibv_end_poll(cq);
}

TEST_F(CqEx, IteratesInOrder) {
  checks("ibv_create_cq_ex(3): ibv_next_poll()");
  connect_with(attributes(kStandard));
  constexpr int kCount = 10;
  exchange(kCount);
  uint64_t seen = 0;
  ASSERT_TRUE(eventually([&] {
    ibv_poll_cq_attr attr{};
    ibv_cq_ex* cq = ex(received_);
    int result = ibv_start_poll(cq, &attr);
    if (result == ENOENT) return false;
    for (; result == 0; result = ibv_next_poll(cq)) {
      EXPECT_EQ(cq->wr_id, 100 + seen);
      EXPECT_EQ(ntohl(ibv_wc_read_imm_data(cq)), seen);
      ++seen;
    }
    EXPECT_EQ(result, ENOENT);
    ibv_end_poll(cq);
    return seen == kCount;
  }));
}

TEST_F(CqEx, EndWithoutTakingAll) {
  checks("ibv_create_cq_ex(3): ibv_end_poll(): what was not iterated over stays");
  connect_with(attributes(kStandard));
  exchange(3);
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(start_poll(received_), 0);
    EXPECT_EQ(ex(received_)->wr_id, 100 + i);
    ibv_end_poll(ex(received_));
  }
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(ex(received_), &attr), ENOENT);
}

// The defect: ibv_destroy_qp() and ibv_modify_qp() held the device's lock while they waited for the
// end of a poll, and the polling thread could not make an object, or poll another queue, before it
// ended the poll. Expect: it can, also while another thread resizes the queue that it polls.
TEST_F(CqEx, CallsBetweenStartAndEndOfAPoll) {
  checks("ibv_create_cq_ex(3): ibv_start_poll(), ibv_end_poll(); ibv_destroy_qp(3)");
  connect_with(attributes(kStandard));
  const auto reset = [](const QpPtr& qp) { EXPECT_EQ(to_state(qp.get(), IBV_QPS_RESET), 0); };
  const auto resize = [&](const QpPtr& /*qp*/) {
    const int result = ibv_resize_cq(received_.get(), 200);
    EXPECT_TRUE(result == 0 || is_unsupported(result)) << result;
  };
  const std::function<void(const QpPtr&)> changes[] = {[](const QpPtr& /*qp*/) {}, reset, resize};
  exchange(static_cast<int>(std::size(changes)));
  for (const auto& change : changes) {
    ASSERT_EQ(start_poll(received_), 0);
    bool ended = false;
    const auto end = [&] {
      if (!std::exchange(ended, true)) ibv_end_poll(ex(received_));
    };
    QpPtr other(Endpoint::create(device_, config_, pd_.get(), sent_.get(), received_.get()));
    ASSERT_NE(other, nullptr);
    std::thread destroyer([&] {
      change(other);
      other.reset();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits
    EXPECT_TRUE(returns([&] { const Buffer made(pd_.get(), kSize); }, end)) << "ibv_reg_mr";
    ibv_wc wc{};
    const auto poll = [&] { EXPECT_GE(ibv_poll_cq(sent_.get(), 1, &wc), 0); };
    EXPECT_TRUE(returns(poll, end)) << "ibv_poll_cq";
    end();
    destroyer.join();
  }
}

TEST_F(CqEx, BatchFreesTheSendQueue) {
  checks("ibv_create_cq_ex(3), ibv_post_send(3): what was polled makes room, within a batch too");
  connect_with(attributes(kStandard));
  const uint32_t places = query(left_.get()).cap.max_send_wr;
  const auto write = [&](uint64_t id) {
    Send request(id, IBV_WR_RDMA_WRITE);
    request.data(source_->sge(0, 8)).remote(inbox_->address(), inbox_->rkey());
    return request.post(left_.get());
  };
  for (uint32_t id = 0; id < places; ++id) ASSERT_EQ(write(id), 0);
  EXPECT_EQ(write(999), ENOMEM);
  ASSERT_EQ(start_poll(sent_), 0);
  EXPECT_EQ(write(places), 0);
  ibv_end_poll(ex(sent_));
  for (uint32_t id = 1; id <= places; ++id) expect_completion(sent_.get(), id);
}

TEST_F(CqEx, OverrunIgnored) {
  checks("ibv_create_cq_ex(3): IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN");
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.cqe = 4;
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  init.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  connect_with(init);
  if (HasFatalFailure()) return;
  for (uint64_t id = 0; id < 16; ++id) {
    Send request(id, IBV_WR_RDMA_WRITE);
    request.data(source_->sge(0, 8)).remote(inbox_->address(), inbox_->rkey());
    ASSERT_EQ(request.post(left_.get()), 0);
  }
  Send mark(99, IBV_WR_SEND);
  ASSERT_EQ(Recv(1).data(inbox_->sge(8, 8)).post(right_.get()), 0);
  ASSERT_EQ(mark.data(source_->sge(0, 8)).post(left_.get()), 0);
  expect_completion(received_.get(), 1);
  expect_completion(sent_.get(), 0);
  EXPECT_EQ(state_of(left_.get()), IBV_QPS_RTS);
  expect_no_event(context());
}

TEST_F(CqEx, PlainPollWorksToo) {
  checks("ibv_create_cq_ex(3): ibv_cq_ex_to_cq(); ibv_poll_cq(3)");
  connect_with(attributes(kStandard));
  exchange(2);
  expect_completion(received_.get(), 100);
  ASSERT_EQ(start_poll(received_), 0);
  EXPECT_EQ(ex(received_)->wr_id, 101U);
  ibv_end_poll(ex(received_));
}

TEST_F(CqEx, ErrorStatus) {
  checks("ibv_create_cq_ex(3): status");
  connect_with(attributes(kStandard));
  ASSERT_EQ(Send(7).data({0x1000, 8, 0x12345678}).post(left_.get()), 0);
  ASSERT_EQ(start_poll(sent_), 0);
  EXPECT_EQ(ex(sent_)->wr_id, 7U);
  EXPECT_EQ(ex(sent_)->status, IBV_WC_LOC_PROT_ERR);
  (void)ibv_wc_read_vendor_err(ex(sent_));
  ibv_end_poll(ex(sent_));
}

TEST_F(CqEx, EachFlagAlone) {
  checks("ibv_create_cq_ex(3): wc_flags");
  for (const uint64_t flag :
       {0, int{IBV_WC_EX_WITH_BYTE_LEN}, int{IBV_WC_EX_WITH_IMM}, int{IBV_WC_EX_WITH_QP_NUM},
        int{IBV_WC_EX_WITH_SRC_QP}, int{IBV_WC_EX_WITH_SLID}, int{IBV_WC_EX_WITH_SL},
        int{IBV_WC_EX_WITH_DLID_PATH_BITS}}) {
    ibv_cq_init_attr_ex init = attributes(flag);
    EXPECT_NE(create(init), nullptr) << flag;
  }
}

TEST_F(CqEx, UnknownFlags) {
  checks("ibv_create_cq_ex(3): wc_flags, flags, comp_mask");
  ibv_cq_init_attr_ex init = attributes(uint64_t{1} << 40);
  errno = 0;
  EXPECT_EQ(create(init), nullptr) << "wc_flags";
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << errno;
  init = attributes(0);
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  init.flags = 1U << 30;
  errno = 0;
  EXPECT_EQ(create(init), nullptr) << "flags";
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << errno;
  init = attributes(0);
  init.comp_mask = 1U << 30;
  EXPECT_EQ(create(init), nullptr) << "comp_mask";
}

TEST_F(CqEx, WhatIsNotOfThisDevice) {
  checks("ibv_create_cq_ex(3): IBV_WC_EX_WITH_TM_INFO, _FLOW_TAG, _CVLAN");
  for (const uint64_t flag :
       {IBV_WC_EX_WITH_TM_INFO, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_CVLAN}) {
    ibv_cq_init_attr_ex init = attributes(flag);
    errno = 0;
    const CqPtr cq = create(init);
    EXPECT_TRUE(cq != nullptr || errno == EINVAL || is_unsupported(errno)) << flag;
  }
}

TEST_F(CqEx, RawTimestamps) {
  checks("ibv_create_cq_ex(3): COMPLETION_TIMESTAMP; ibv_query_rt_values_ex(3)");
  ibv_cq_init_attr_ex init = attributes(kStandard | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
  if (!need(device_.attr.completion_timestamp_mask != 0, "timestamps")) return;
  connect_with(init);
  exchange(3);
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(start_poll(received_), 0);
    const uint64_t stamp = ibv_wc_read_completion_ts(ex(received_));
    EXPECT_EQ(stamp & ~device_.attr.completion_timestamp_mask, 0U);
    EXPECT_GE(stamp, last) << "it does not go back";
    EXPECT_NE(stamp, 0U);
    last = stamp;
    ibv_end_poll(ex(received_));
  }
  EXPECT_GT(device_.attr.hca_core_clock, 0U) << "kHz";
}

TEST_F(CqEx, RawClockAndRawTimestampsAreOfOneClock) {
  checks("ibv_query_rt_values_ex(3): raw_clock");
  if (!need(device_.attr.completion_timestamp_mask != 0, "timestamps")) return;
  connect_with(attributes(kStandard | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP));
  const auto ticks = [&] {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    EXPECT_EQ(ibv_query_rt_values_ex(context(), &values), 0);
    EXPECT_NE(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK, 0U);
    // In ticks of the device's clock; tv_sec and tv_nsec hold them as a time or as a number.
    return static_cast<uint64_t>(values.raw_clock.tv_sec) * 1000000000U +
           static_cast<uint64_t>(values.raw_clock.tv_nsec);
  };
  const uint64_t before = ticks();
  exchange(1);
  ASSERT_EQ(start_poll(received_), 0);
  const uint64_t stamp = ibv_wc_read_completion_ts(ex(received_));
  ibv_end_poll(ex(received_));
  const uint64_t after = ticks();
  EXPECT_LE(before, stamp);
  EXPECT_LE(stamp, after);
}

TEST_F(CqEx, WallClockTimestamps) {
  checks("ibv_create_cq_ex(3): COMPLETION_TIMESTAMP_WALLCLOCK, nanoseconds");
  ibv_cq_init_attr_ex init = attributes(kStandard | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
  errno = 0;
  {
    const CqPtr probe = create(init);
    if (!need(probe != nullptr, "wall-clock timestamps")) return;
  }
  connect_with(init);
  const uint64_t before = wall_clock_ns();
  exchange(1);
  ASSERT_EQ(start_poll(received_), 0);
  const uint64_t stamp = ibv_wc_read_completion_wallclock_ns(ex(received_));
  ibv_end_poll(ex(received_));
  const uint64_t after = wall_clock_ns();
  // Hardware clocks are converted, and may be a little off.
  constexpr uint64_t kTolerance = 1000000;
  EXPECT_GE(stamp + kTolerance, before);
  EXPECT_LE(stamp, after + kTolerance);
}

TEST_F(CqEx, SingleThreaded) {
  checks("ibv_create_cq_ex(3): IBV_CREATE_CQ_ATTR_SINGLE_THREADED");
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  init.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  {
    const CqPtr probe = create(init);
    if (!need(probe != nullptr, "single-threaded queues")) return;
  }
  connect_with(init);
  exchange(5);
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(start_poll(received_), 0);
    EXPECT_EQ(ex(received_)->wr_id, 100 + i);
    ibv_end_poll(ex(received_));
  }
}

TEST_F(CqEx, InAParentDomain) {
  checks("ibv_create_cq_ex(3): parent_domain");
  ibv_td_init_attr thread{};
  const TdPtr td(ibv_alloc_td(context(), &thread));
  if (!need(td != nullptr, "thread domains")) return;
  pd_ = alloc_pd();
  ibv_parent_domain_init_attr domain{};
  domain.pd = pd_.get();
  domain.td = td.get();
  const PdPtr parent(ibv_alloc_parent_domain(context(), &domain));
  ASSERT_NE(parent, nullptr) << std::strerror(errno);
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  init.parent_domain = parent.get();
  const CqPtr cq = create(init);
  ASSERT_NE(cq, nullptr) << std::strerror(errno);
  expect_empty(cq.get());
}

TEST_F(CqEx, DomainThatCannotBe) {
  checks("ibv_create_cq_ex(3): parent_domain; a parent domain of this context");
  ibv_td_init_attr thread{};
  const TdPtr td(ibv_alloc_td(context(), &thread));
  if (!need(td != nullptr, "thread domains")) return;
  if (!need_if_any(options().require_all, "a check of the domain")) return;
  const PdPtr plain = alloc_pd();
  const Device second = Device::open();
  const PdPtr base(ibv_alloc_pd(second.context.get()));
  ibv_parent_domain_init_attr domain{};
  domain.pd = base.get();
  const PdPtr foreign(ibv_alloc_parent_domain(second.context.get(), &domain));
  ASSERT_NE(foreign, nullptr) << std::strerror(errno);
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  for (ibv_pd* const pd : {plain.get(), foreign.get(), static_cast<ibv_pd*>(nullptr)}) {
    init.parent_domain = pd;
    errno = 0;
    EXPECT_EQ(create(init), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(CqEx, Moderation) {
  checks("ibv_modify_cq(3): cq_count, cq_period");
  if (!need(device_.attr.cq_mod_caps.max_cq_count > 0, "moderation")) return;
  const ChannelPtr channel(ibv_create_comp_channel(context()));
  ibv_cq_init_attr_ex init = attributes(kStandard);
  init.channel = channel.get();
  connect_with(init);
  ibv_modify_cq_attr attr{};
  attr.attr_mask = IBV_CQ_ATTR_MODERATE;
  attr.moderate = {4, device_.attr.cq_mod_caps.max_cq_period};
  ASSERT_EQ(ibv_modify_cq(received_.get(), &attr), 0);
  ASSERT_EQ(ibv_req_notify_cq(received_.get(), 0), 0);
  const auto begin = std::chrono::steady_clock::now();
  exchange(3);
  for (uint64_t id = 0; id < 3; ++id) expect_completion(sent_.get(), id);
  const bool too_early = readable(channel->fd, std::chrono::milliseconds(0));
  const auto period = std::chrono::microseconds(attr.moderate.cq_period);
  if (std::chrono::steady_clock::now() - begin < period) {
    EXPECT_FALSE(too_early) << "after three completions";
  }
  exchange(1);
  EXPECT_TRUE(readable(channel->fd, kPatience)) << "after four completions";
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &cq, &unused), 0);
  ibv_ack_cq_events(cq, 1);
  // One alone: after the period.
  for (int i = 0; i < 4; ++i) (void)next_completion(received_.get());
  attr.moderate = {100, 1000};
  ASSERT_EQ(ibv_modify_cq(received_.get(), &attr), 0);
  ASSERT_EQ(ibv_req_notify_cq(received_.get(), 0), 0);
  exchange(1);
  EXPECT_TRUE(readable(channel->fd, kPatience)) << "after the period";
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &cq, &unused), 0);
  ibv_ack_cq_events(cq, 1);
  // The queues go before their channel.
  inbox_.reset();
  source_.reset();
  left_.reset();
  right_.reset();
  sent_.reset();
  received_.reset();
}

TEST_F(CqEx, ModerationMask) {
  checks("ibv_modify_cq(3): attr_mask");
  if (!need(device_.attr.cq_mod_caps.max_cq_count > 0, "moderation")) return;
  const CqPtr cq = create_cq();
  ibv_modify_cq_attr attr{};
  attr.attr_mask = 1U << 20;
  const int result = ibv_modify_cq(cq.get(), &attr);
  EXPECT_TRUE(result == EINVAL || is_unsupported(result)) << result;
}

}  // namespace
}  // namespace conformance
