// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues.
#include <algorithm>
#include <set>
#include <thread>

#include "tests/conformance/support/fixture.h"

namespace conformance::srq_test {
namespace {

constexpr uint32_t kSize = 256;
constexpr uint32_t kPlaces = 16;

/// Senders on one side; on the other, queue pairs that share a receive queue.
struct Srq : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need(device_.attr.orig_attr.max_srq > 0, "SRQs")) return;
    pd_ = alloc_pd();
    srq_ = create(kPlaces);
    ASSERT_NE(srq_, nullptr) << std::strerror(errno);
    inbox_ = std::make_unique<Buffer>(pd_.get(), kSize * kPlaces);
  }
  void TearDown() override {
    senders_.clear();
    receivers_.clear();
    inbox_.reset();
    srq_.reset();
    Conformance::TearDown();
  }
  SrqPtr create(uint32_t places, uint32_t elements = 2) {
    ibv_srq_init_attr init{nullptr, {places, elements, 0}};
    return SrqPtr(ibv_create_srq(pd_.get(), &init));
  }
  ibv_srq_attr attributes() {
    ibv_srq_attr attr{};
    EXPECT_EQ(ibv_query_srq(srq_.get(), &attr), 0);
    return attr;
  }
  /// One more connected pair.
  void add_pair(QpConfig sender = {}, QpConfig receiver = {}) {
    receiver.srq = srq_.get();
    receiver.pd = pd_.get();
    senders_.push_back(std::make_unique<Endpoint>(device_, sender));
    receivers_.push_back(std::make_unique<Endpoint>(device_, receiver));
    senders_.back()->connect_to(receivers_.back()->number());
    receivers_.back()->connect_to(senders_.back()->number());
  }
  int receive(uint64_t id) {
    return Recv(id).data(inbox_->sge((id % kPlaces) * kSize, kSize)).post(srq_.get());
  }
  void send(size_t sender, uint64_t id) {
    conformance::Send request(id, IBV_WR_SEND);
    ASSERT_EQ(request.post(senders_[sender]->qp.get()), 0);
    expect_completion(senders_[sender]->send_cq.get(), id);
  }
  ibv_cq* received(size_t receiver) { return receivers_[receiver]->recv_cq.get(); }

  PdPtr pd_;
  SrqPtr srq_;
  std::unique_ptr<Buffer> inbox_;
  std::vector<std::unique_ptr<Endpoint>> senders_, receivers_;
};

TEST_F(Srq, SizesAreAtLeastWhatWasAsked) {
  checks("ibv_create_srq(3)");
  int mark = 0;
  ibv_srq_init_attr init{&mark, {100, 3, 0}};
  const SrqPtr srq(ibv_create_srq(pd_.get(), &init));
  ASSERT_NE(srq, nullptr);
  EXPECT_GE(init.attr.max_wr, 100U);
  EXPECT_GE(init.attr.max_sge, 3U);
  EXPECT_EQ(srq->srq_context, &mark);
  EXPECT_EQ(srq->pd, pd_.get());
  EXPECT_EQ(srq->context, context());
}

TEST_F(Srq, QueryReturnsWhatWasMade) {
  checks("ibv_query_srq(3)");
  const ibv_srq_attr attr = attributes();
  EXPECT_GE(attr.max_wr, kPlaces);
  EXPECT_GE(attr.max_sge, 2U);
  EXPECT_EQ(attr.srq_limit, 0U);
}

TEST_F(Srq, SizesThatCannotBe) {
  checks("ibv_create_srq(3), ibv_query_device(3): max_srq_wr, max_srq_sge");
  const ibv_device_attr& device = device_.attr.orig_attr;
  errno = 0;
  EXPECT_EQ(create(static_cast<uint32_t>(device.max_srq_wr) + 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(create(1, static_cast<uint32_t>(device.max_srq_sge) + 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Srq, ServesSeveralQueuePairs) {
  checks("ibv_create_srq(3), ibv_post_srq_recv(3); ibv_poll_cq(3): qp_num");
  for (int i = 0; i < 3; ++i) add_pair();
  for (uint64_t id = 0; id < 6; ++id) ASSERT_EQ(receive(id), 0);
  std::set<uint64_t> used;
  for (uint64_t round = 0; round < 2; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      send(i, i);
      const ibv_wc wc = next_completion(received(i));
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      EXPECT_EQ(wc.qp_num, receivers_[i]->number());
      used.insert(wc.wr_id);
    }
  }
  EXPECT_EQ(used, (std::set<uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(Srq, QueuePairShowsIt) {
  checks("ibv_create_qp(3): srq; ibv_query_qp(3)");
  add_pair();
  EXPECT_EQ(receivers_[0]->qp->srq, srq_.get());
  ibv_qp_init_attr init{};
  (void)query(receivers_[0]->qp.get(), &init);
  EXPECT_EQ(init.srq, srq_.get());
}

TEST_F(Srq, QueuePairHasNoReceiveQueueOfItsOwn) {
  checks("ibv_post_recv(3): not for a queue pair with an SRQ");
  add_pair();
  const int result = Recv(1).data(inbox_->sge()).post(receivers_[0]->qp.get());
  EXPECT_TRUE(result == EINVAL || result == ENOMEM) << result;
}

TEST_F(Srq, ReceiveAttributesAreIgnored) {
  checks("ibv_create_qp(3): max_recv_wr and max_recv_sge are ignored with an SRQ");
  QpConfig config;
  config.cap.max_recv_wr = config.cap.max_recv_sge = 0xffffff;
  add_pair({}, config);
  EXPECT_NE(receivers_[0]->qp, nullptr);
}

TEST_F(Srq, Overflow) {
  checks("ibv_post_srq_recv(3): ENOMEM where the queue is full; bad_recv_wr");
  const uint32_t places = attributes().max_wr;
  for (uint32_t i = 0; i < places; ++i) ASSERT_EQ(receive(i), 0) << i;
  Recv over(99);
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(srq_.get(), over.wr(), &bad), ENOMEM);
  EXPECT_EQ(bad, over.wr());
}

TEST_F(Srq, TooManyElements) {
  checks("ibv_post_srq_recv(3): num_sge");
  Recv receive_all(1);
  const uint32_t limit = attributes().max_sge;
  for (uint32_t i = 0; i <= limit; ++i) receive_all.data(inbox_->sge(0, 1));
  EXPECT_EQ(receive_all.post(srq_.get()), EINVAL);
}

TEST_F(Srq, EmptyQueueIsReceiverNotReady) {
  checks("IBTA 9.7.5.2.8, 10.2.9: RNR NAK where the SRQ is empty");
  add_pair();
  ASSERT_EQ(conformance::Send(1).post(senders_[0]->qp.get()), 0);
  ASSERT_EQ(conformance::Send(2, IBV_WR_RDMA_WRITE).post(receivers_[0]->qp.get()), 0);
  expect_completion(receivers_[0]->send_cq.get(), 2);
  expect_empty(received(0));
  ASSERT_EQ(receive(3), 0);
  expect_completion(received(0), 3);
  expect_completion(senders_[0]->send_cq.get(), 1);
}

TEST_F(Srq, LimitEvent) {
  checks("ibv_modify_srq(3): IBV_SRQ_LIMIT; IBV_EVENT_SRQ_LIMIT_REACHED, once");
  add_pair();
  for (uint64_t id = 0; id < 5; ++id) ASSERT_EQ(receive(id), 0);
  ibv_srq_attr attr{};
  attr.srq_limit = 4;
  ASSERT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(attributes().srq_limit, 4U);
  send(0, 10);  // 4 are left: not below the limit
  expect_completion(received(0), 0);
  expect_no_event(context());
  send(0, 11);
  expect_completion(received(0), 1);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_SRQ_LIMIT_REACHED).element.srq, srq_.get());
  EXPECT_EQ(attributes().srq_limit, 0U) << "disarmed";
  send(0, 12);
  expect_completion(received(0), 2);
  expect_no_event(context());
}

TEST_F(Srq, LimitBelowAtOnce) {
  checks("IBTA 10.2.9.1.2 (o10-2.2.2): armed with fewer requests than the limit: an event");
  add_pair();
  ASSERT_EQ(receive(0), 0);
  ASSERT_EQ(receive(1), 0);
  ibv_srq_attr attr{};
  attr.srq_limit = 5;
  ASSERT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_LIMIT), 0);
  send(0, 10);
  expect_completion(received(0), 0);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_SRQ_LIMIT_REACHED).element.srq, srq_.get());
}

TEST_F(Srq, LimitBeyondTheSize) {
  checks("ibv_modify_srq(3): srq_limit");
  ibv_srq_attr attr{};
  attr.srq_limit = attributes().max_wr + 1;
  EXPECT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(attributes().srq_limit, 0U);
}

TEST_F(Srq, UnknownMask) {
  checks("ibv_modify_srq(3): srq_attr_mask");
  ibv_srq_attr attr{};
  EXPECT_EQ(ibv_modify_srq(srq_.get(), &attr, 1 << 10), EINVAL);
}

TEST_F(Srq, ResizeKeepsWhatIsPosted) {
  checks("ibv_modify_srq(3): IBV_SRQ_MAX_WR");
  if (!need(device_.offers(IBV_DEVICE_SRQ_RESIZE), "resizing SRQs")) return;
  add_pair();
  for (uint64_t id = 0; id < 3; ++id) ASSERT_EQ(receive(id), 0);
  ibv_srq_attr attr{};
  attr.max_wr = 200;
  ASSERT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_MAX_WR), 0);
  const uint32_t places = attributes().max_wr;
  EXPECT_GE(places, 200U);
  for (uint32_t id = 3; id < places; ++id) ASSERT_EQ(receive(id), 0) << id;
  EXPECT_EQ(receive(places), ENOMEM);
  for (uint64_t id = 0; id < 10; ++id) {
    send(0, 10);
    expect_completion(received(0), id);
  }
}

TEST_F(Srq, ResizeBelowWhatIsPosted) {
  checks("ibv_modify_srq(3): IBV_SRQ_MAX_WR; IBTA 11.2.3.3");
  if (!need(device_.offers(IBV_DEVICE_SRQ_RESIZE), "resizing SRQs")) return;
  for (uint64_t id = 0; id < 10; ++id) ASSERT_EQ(receive(id), 0);
  ibv_srq_attr attr{};
  attr.max_wr = 5;
  EXPECT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_MAX_WR), EINVAL);
  attr.max_wr = static_cast<uint32_t>(device_.attr.orig_attr.max_srq_wr) + 1;
  EXPECT_EQ(ibv_modify_srq(srq_.get(), &attr, IBV_SRQ_MAX_WR), EINVAL);
}

TEST_F(Srq, BusyWithAQueuePair) {
  checks("ibv_create_srq(3): ibv_destroy_srq() fails if any queue pair is associated");
  add_pair();
  EXPECT_EQ(ibv_destroy_srq(srq_.get()), EBUSY);
}

TEST_F(Srq, OfAnotherDomainThanTheQueuePair) {
  checks("IBTA 10.2.9.2: SRQ and queue pair may have different domains; receives have the SRQ's");
  const PdPtr other = alloc_pd();
  QpConfig config;
  config.srq = srq_.get();
  config.pd = other.get();
  Endpoint receiver(device_, config);
  Endpoint sender(device_, QpConfig{});
  receiver.connect_to(sender.number());
  sender.connect_to(receiver.number());
  const Buffer source(sender.pd, 8);
  ASSERT_EQ(receive(3), 0);
  ASSERT_EQ(conformance::Send(2).data(source.sge()).post(sender.qp.get()), 0);
  expect_completion(sender.send_cq.get(), 2);
  expect_completion(receiver.recv_cq.get(), 3);
  const Buffer of_the_queue_pair(other.get(), kSize);
  ASSERT_EQ(Recv(4).data(of_the_queue_pair.sge()).post(srq_.get()), 0);
  ASSERT_EQ(conformance::Send(5).data(source.sge()).post(sender.qp.get()), 0);
  expect_completion(receiver.recv_cq.get(), 4, IBV_WC_LOC_PROT_ERR);
  expect_completion(sender.send_cq.get(), 5, IBV_WC_REM_OP_ERR);
}

TEST_F(Srq, ParentDomainOfItsDomainIsTheSame) {
  checks("ibv_alloc_parent_domain(3): completely interchangeable");
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd_.get();
  errno = 0;
  const PdPtr parent(ibv_alloc_parent_domain(context(), &attr));
  if (!need(parent != nullptr || !is_unsupported(errno), "parent domains")) return;
  const CqPtr cq = create_cq();
  QpConfig config;
  config.srq = srq_.get();
  EXPECT_NE(QpPtr(Endpoint::create(device_, config, parent.get(), cq.get(), cq.get())), nullptr);
}

TEST_F(Srq, MemoryOfAnotherDomain) {
  checks("IBTA 10.2.9.2: keys are checked against the SRQ's domain");
  add_pair();
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), kSize);
  ASSERT_EQ(Recv(1).data(foreign.sge()).post(srq_.get()), 0);
  const Buffer source(senders_[0]->pd, 8);
  ASSERT_EQ(conformance::Send(2).data(source.sge()).post(senders_[0]->qp.get()), 0);
  expect_completion(received(0), 1, IBV_WC_LOC_PROT_ERR);
  expect_completion(senders_[0]->send_cq.get(), 2, IBV_WC_REM_OP_ERR);
}

TEST_F(Srq, OneFailedQueuePairDoesNotHarmTheOthers) {
  checks("IBTA 10.2.9: the requests in the SRQ are not flushed with a queue pair");
  add_pair();
  add_pair();
  ASSERT_EQ(receive(0), 0);
  ASSERT_EQ(receive(1), 0);
  ASSERT_EQ(to_state(receivers_[0]->qp.get(), IBV_QPS_ERR), 0);
  expect_empty(received(0));
  send(1, 9);
  expect_completion(received(1), 0);
}

TEST_F(Srq, LastWqeReached) {
  checks("ibv_get_async_event(3): IBV_EVENT_QP_LAST_WQE_REACHED; IBTA 11.6.3.1");
  add_pair();
  ASSERT_EQ(to_state(receivers_[0]->qp.get(), IBV_QPS_ERR), 0);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_QP_LAST_WQE_REACHED).element.qp,
            receivers_[0]->qp.get());
}

TEST_F(Srq, LastWqeReachedAfterAFault) {
  checks("ibv_get_async_event(3): IBV_EVENT_QP_LAST_WQE_REACHED; IBTA 11.6.3.1");
  add_pair();
  const Buffer source(senders_[0]->pd, 8);
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(source.sge())
                .remote(inbox_->address(), inbox_->rkey() ^ 0x5500)
                .post(senders_[0]->qp.get()),
            0);
  expect_completion(senders_[0]->send_cq.get(), 1, IBV_WC_REM_ACCESS_ERR);
  std::set<ibv_event_type> seen;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(readable(context()->async_fd, kPatience)) << "event " << i;
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(context(), &event), 0);
    EXPECT_EQ(event.element.qp, receivers_[0]->qp.get());
    seen.insert(event.event_type);
    ibv_ack_async_event(&event);
  }
  EXPECT_EQ(seen,
            (std::set<ibv_event_type>{IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_QP_LAST_WQE_REACHED}));
}

TEST_F(Srq, MessageTooLongForItsReceive) {
  checks("IBTA 9.7.4.1.6: invalid request, local length error; the SRQ goes on");
  add_pair();
  add_pair();
  ASSERT_EQ(Recv(1).data(inbox_->sge(0, 4)).post(srq_.get()), 0);
  ASSERT_EQ(receive(2), 0);
  const Buffer source(senders_[0]->pd, 8);
  ASSERT_EQ(conformance::Send(3).data(source.sge()).post(senders_[0]->qp.get()), 0);
  expect_completion(senders_[0]->send_cq.get(), 3, IBV_WC_REM_INV_REQ_ERR);
  expect_completion(received(0), 1, IBV_WC_LOC_LEN_ERR);
  send(1, 4);
  expect_completion(received(1), 2);
}

TEST_F(Srq, WriteWithImmediateUsesAPlace) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE_WITH_IMM");
  add_pair();
  ASSERT_EQ(receive(1), 0);
  conformance::Send write(2, IBV_WR_RDMA_WRITE_WITH_IMM);
  ASSERT_EQ(write.imm(3).post(senders_[0]->qp.get()), 0);
  EXPECT_EQ(expect_completion(received(0), 1).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
}

TEST_F(Srq, Datagrams) {
  checks("ibv_create_qp(3): UD with an SRQ");
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  if (!need_type(ud)) return;
  add_pair(ud, ud);
  ASSERT_EQ(receive(1), 0);
  ibv_ah_attr address = device_.own_address();
  const AhPtr ah(ibv_create_ah(senders_[0]->pd, &address));
  ASSERT_NE(ah, nullptr);
  conformance::Send message(2);
  ASSERT_EQ(message.to(ah.get(), receivers_[0]->number(), ud.qkey).post(senders_[0]->qp.get()), 0);
  EXPECT_EQ(expect_completion(received(0), 1).src_qp, senders_[0]->number());
}

TEST_F(Srq, ManyQueuePairsManyThreads) {
  checks("ibv_post_srq_recv(3), ibv_poll_cq(3): all verbs are thread safe");
  constexpr size_t kThreads = 4;
  constexpr uint64_t kMessages = 300;
  for (size_t i = 0; i < kThreads; ++i) add_pair();
  for (uint64_t id = 0; id < kPlaces; ++id) ASSERT_EQ(receive(id), 0);
  std::vector<uint64_t> counts(kThreads, 0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ibv_cq* done = senders_[i]->send_cq.get();
      ibv_wc wc{};
      for (uint64_t sent = 0; sent < kMessages; ++sent) {
        if (conformance::Send(sent).post(senders_[i]->qp.get()) != 0) return;
        // The receiver of this thread's messages, whatever request they take.
        const bool both = eventually([&, waiting_send = true, waiting_receive = true]() mutable {
          if (waiting_send && ibv_poll_cq(done, 1, &wc) == 1) waiting_send = false;
          if (waiting_receive && ibv_poll_cq(received(i), 1, &wc) == 1) {
            waiting_receive = wc.status != IBV_WC_SUCCESS;
            if (!waiting_receive && receive(wc.wr_id) != 0) return true;
          }
          return !waiting_send && !waiting_receive;
        });
        if (!both) return;
        ++counts[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts, std::vector<uint64_t>(kThreads, kMessages));
}

}  // namespace
}  // namespace conformance::srq_test
