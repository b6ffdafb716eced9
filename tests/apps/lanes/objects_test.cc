// SPDX-License-Identifier: BSD-2-Clause
// What the threads of a process share: regions, windows, completion queues and their events; and
// that they make and destroy objects while others send.
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "support.h"

namespace lanes {
namespace {

using Objects = LanesTest;
using WindowPtr = std::unique_ptr<ibv_mw, verbs::Destroyer<ibv_dealloc_mw>>;

TEST_F(Objects, RegionsAreMadeWhileOthersSend) {
  std::atomic<uint32_t> sending{0};
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const bool sends = thread % 2 == 0;
    if (sends) {
      const Queues own = make_queues();
      connect(own.left.get(), own.right.get());
      sending.fetch_add(1);
      all.arrive_and_wait();
      for (uint32_t round = 0; round < kRounds; ++round) {
        fill(bytes(thread), thread, round);
        EXPECT_EQ(rc_errors::post_rdma(own.left.get(), 1, IBV_WR_RDMA_WRITE, sge(thread),
                                       address(thread, 1), memory_->mr->rkey),
                  0);
        if (!expect_success(own.cq.get())) break;
        EXPECT_TRUE(is_filled(bytes(thread, 1), thread, round));
      }
      sending.fetch_sub(1);
      return;
    }
    all.arrive_and_wait();
    while (sending.load() != 0) {
      const rc_errors::Memory source(pd_.get(), kSize);
      rc_errors::Memory target(pd_.get(), kSize);
      target.bytes.assign(kSize, 0);
      const Queues own = make_queues();
      connect(own.left.get(), own.right.get());
      fill(const_cast<uint8_t*>(source.bytes.data()), thread, 7);
      EXPECT_EQ(rc_errors::post_rdma(own.left.get(), 1, IBV_WR_RDMA_WRITE, source.sge(kSize),
                                     target.address(), target.mr->rkey),
                0);
      if (!expect_success(own.cq.get())) return;
      EXPECT_TRUE(is_filled(target.bytes.data(), thread, 7));
    }
  });
}

TEST_F(Objects, AtomicsOfAllThreadsAddUp) {
  auto* const counter = reinterpret_cast<uint64_t*>(bytes(0));
  *counter = 0;
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const Queues own = make_queues();
    connect(own.left.get(), own.right.get());
    all.arrive_and_wait();
    const ibv_sge result{address(thread, 1), sizeof(uint64_t), memory_->mr->lkey};
    for (uint32_t round = 0; round < kRounds; ++round) {
      EXPECT_EQ(rc_errors::post_atomic(own.left.get(), 1, IBV_WR_ATOMIC_FETCH_AND_ADD, result,
                                       address(0), memory_->mr->rkey),
                0);
      if (!expect_success(own.cq.get())) return;
    }
  });
  EXPECT_EQ(*counter, kThreads * kRounds);
}

TEST_F(Objects, ARegionThatIsGoneIsGoneForAll) {
  in_threads([&](uint32_t /*thread*/, std::barrier<>& all) {
    const Queues own = make_queues();
    connect(own.left.get(), own.right.get());
    all.arrive_and_wait();
    rc_errors::Memory target(pd_.get(), kSize);
    const uint32_t key = target.mr->rkey;
    target.mr.reset();
    EXPECT_EQ(
        rc_errors::post_rdma(own.left.get(), 1, IBV_WR_RDMA_WRITE, sge(0), target.address(), key),
        0);
    expect_completion(own.cq.get(), 1, IBV_WC_REM_ACCESS_ERR);
  });
}

// A type 1 window is bound by any queue pair and used by any: the binder's and the user's lanes are
// others.
TEST_F(Objects, AWindowBoundInOneLaneIsUsedInAnother) {
  const WindowPtr window(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1));
  ASSERT_NE(window, nullptr);
  const Queues binder = make_queues();
  connect(binder.left.get(), binder.right.get());
  const Queues user = make_queues();
  connect(user.left.get(), user.right.get());
  if (in_turn()) {
    ASSERT_NE(owner_of(*binder.left), owner_of(*user.left));
  }
  uint32_t before = 0;
  for (uint32_t round = 0; round < 100; ++round) {
    ibv_mw_bind bind{};
    bind.wr_id = 1;
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {memory_->mr.get(), address(0, 1), kSize, IBV_ACCESS_REMOTE_WRITE};
    ASSERT_EQ(ibv_bind_mw(binder.left.get(), window.get(), &bind), 0);
    ASSERT_TRUE(expect_success(binder.cq.get()));
    EXPECT_NE(window->rkey, before);
    before = window->rkey;
    fill(bytes(0), 0, round);
    EXPECT_EQ(rc_errors::post_rdma(user.left.get(), 2, IBV_WR_RDMA_WRITE, sge(0), address(0, 1),
                                   window->rkey),
              0);
    ASSERT_TRUE(expect_success(user.cq.get()));
    EXPECT_TRUE(is_filled(bytes(0, 1), 0, round));
  }
  EXPECT_EQ(ibv_dereg_mr(memory_->mr.get()), EBUSY) << "the window is bound to it";
  // Bound anew, the old key is of no use.
  ibv_mw_bind bind{};
  bind.wr_id = 1;
  bind.send_flags = IBV_SEND_SIGNALED;
  ASSERT_EQ(ibv_bind_mw(binder.right.get(), window.get(), &bind), 0);
  ASSERT_TRUE(expect_success(binder.cq.get()));
  EXPECT_EQ(
      rc_errors::post_rdma(user.left.get(), 3, IBV_WR_RDMA_WRITE, sge(0), address(0, 1), before),
      0);
  expect_completion(user.cq.get(), 3, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Objects, EventsOfAChannelForEachThread) {
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const ChannelPtr channel(ibv_create_comp_channel(context_.get()));
    const CqPtr cq = make_cq(channel.get());
    const QpPtr left = make_qp(cq.get(), cq.get());
    const QpPtr right = make_qp(cq.get(), cq.get());
    connect(left.get(), right.get());
    all.arrive_and_wait();
    for (uint32_t round = 0; round < kRounds / 4; ++round) {
      EXPECT_EQ(ibv_req_notify_cq(cq.get(), 0), 0);
      EXPECT_EQ(post_receive(right.get(), 1, sge(thread, 1)), 0);
      EXPECT_EQ(post_send(left.get(), 2, sge(thread)), 0);
      ibv_cq* noted = nullptr;
      void* user = nullptr;
      ASSERT_EQ(ibv_get_cq_event(channel.get(), &noted, &user), 0);
      EXPECT_EQ(noted, cq.get());
      ibv_ack_cq_events(noted, 1);
      if (!expect_success(cq.get()) || !expect_success(cq.get())) return;
    }
  });
}

// One thread waits for the events of all, whose queue pairs complete to one queue from every lane.
TEST_F(Objects, EventsOfACommonQueue) {
  const ChannelPtr channel(ibv_create_comp_channel(context_.get()));
  const CqPtr common = make_cq(channel.get());
  std::jthread waiter([&] {
    uint32_t completed = 0;
    while (completed < kThreads * kRounds / 4) {
      EXPECT_EQ(ibv_req_notify_cq(common.get(), 0), 0);
      ibv_wc completion{};
      bool any = false;
      while (ibv_poll_cq(common.get(), 1, &completion) == 1) {
        EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
        any = true;
        ++completed;
      }
      if (any) continue;
      ibv_cq* noted = nullptr;
      void* user = nullptr;
      ASSERT_EQ(ibv_get_cq_event(channel.get(), &noted, &user), 0);
      ibv_ack_cq_events(noted, 1);
    }
  });
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const CqPtr own = make_cq();
    const QpPtr left = make_qp(common.get(), own.get());
    const QpPtr right = make_qp(own.get(), own.get());
    connect(left.get(), right.get());
    all.arrive_and_wait();
    for (uint32_t round = 0; round < kRounds / 4; ++round) {
      EXPECT_EQ(post_receive(right.get(), 1, sge(thread, 1)), 0);
      // Until the waiter has taken completions, the queue pair may have no place.
      while (post_send(left.get(), 2, sge(thread)) == ENOMEM) std::this_thread::yield();
      if (!expect_success(own.get())) return;
    }
    all.arrive_and_wait();
    // Until all have completed: a queue pair takes its completions with it.
    if (thread == 0) waiter.join();
    all.arrive_and_wait();
  });
}

// The queues are made by a thread that does not use them.
TEST_F(Objects, QueuesChangeHands) {
  std::array<Queues, kThreads> queues;
  for (Queues& one : queues) {
    one = make_queues();
    connect(one.left.get(), one.right.get());
  }
  in_threads([&](uint32_t thread, std::barrier<>& /*all*/) {
    const Queues& own = queues[thread];
    for (uint32_t round = 0; round < kRounds / 4; ++round) {
      EXPECT_EQ(post_receive(own.right.get(), 1, sge(thread, 1)), 0);
      EXPECT_EQ(post_send(own.left.get(), 2, sge(thread)), 0);
      if (!expect_success(own.cq.get()) || !expect_success(own.cq.get())) return;
    }
  });
}

}  // namespace
}  // namespace lanes
