// SPDX-License-Identifier: BSD-2-Clause
// Messages between queue pairs of several threads.
#include <array>
#include <atomic>
#include <set>

#include "support.h"

namespace lanes {
namespace {

using Traffic = LanesTest;

TEST_F(Traffic, ThreadsWithQueuesOfTheirOwn) {
  in_threads([this](uint32_t thread, std::barrier<>& all) {
    const Queues own = make_queues();
    connect(own.left.get(), own.right.get());
    all.arrive_and_wait();
    for (uint32_t round = 0; round < kRounds; ++round) {
      fill(bytes(thread), thread, round);
      EXPECT_EQ(post_receive(own.right.get(), 1, sge(thread, 1)), 0);
      EXPECT_EQ(post_send(own.left.get(), 2, sge(thread)), 0);
      if (!expect_success(own.cq.get()) || !expect_success(own.cq.get())) return;
      if (!is_filled(bytes(thread, 1), thread, round)) {
        ADD_FAILURE() << "thread " << thread << ", round " << round;
        return;
      }
    }
  });
}

TEST_F(Traffic, SetsOfQueuesGetLanesInTurn) {
  if (!in_turn()) GTEST_SKIP() << "lanes are given to threads";
  std::set<uint32_t> owners;
  std::array<Queues, kThreads> queues;
  for (Queues& one : queues) {
    one = make_queues();
    EXPECT_EQ(owner_of(*one.left), owner_of(*one.right)) << "they have one completion queue";
    owners.insert(owner_of(*one.left));
  }
  EXPECT_EQ(owners.size(), kThreads);
}

// Each thread sends to the next one, and receives from the one before.
TEST_F(Traffic, ThreadsInARing) {
  std::array<Queues, kThreads> queues;
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    Queues& own = queues[thread];
    own = make_queues();
    all.arrive_and_wait();
    connect(own.left.get(), queues[(thread + 1) % kThreads].right.get());
    all.arrive_and_wait();
    EXPECT_EQ(post_receive(own.right.get(), 1, sge(thread, 1)), 0);
    all.arrive_and_wait();
    const uint32_t from = (thread + kThreads - 1) % kThreads;
    for (uint32_t round = 0; round < kRounds / 4; ++round) {
      fill(bytes(thread), thread, round);
      EXPECT_EQ(post_send(own.left.get(), 2, sge(thread)), 0);
      for (int i = 0; i < 2; ++i) {
        const ibv_wc completion = next_completion(own.cq.get());
        EXPECT_EQ(completion.status, IBV_WC_SUCCESS) << ibv_wc_status_str(completion.status);
        if (completion.status != IBV_WC_SUCCESS) std::abort();  // or the others would wait
        if (completion.opcode != IBV_WC_RECV) continue;
        EXPECT_TRUE(is_filled(bytes(thread, 1), from, round)) << thread << " " << round;
      }
      all.arrive_and_wait();  // what was received may be overwritten
      EXPECT_EQ(post_receive(own.right.get(), 1, sge(thread, 1)), 0);
      all.arrive_and_wait();
    }
    all.arrive_and_wait();
    own.left.reset();
    own.right.reset();
  });
}

// All complete their sends to one queue, which all poll.
TEST_F(Traffic, SendsOfAllCompleteToOneQueue) {
  const CqPtr common = make_cq();
  std::atomic<uint32_t> completed{0};
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const CqPtr own = make_cq();
    const QpPtr left = make_qp(common.get(), own.get());
    const QpPtr right = make_qp(own.get(), own.get());
    connect(left.get(), right.get());
    all.arrive_and_wait();
    for (uint32_t round = 0; round < kRounds; ++round) {
      fill(bytes(thread), thread, round);
      EXPECT_EQ(post_receive(right.get(), 1, sge(thread, 1)), 0);
      EXPECT_EQ(post_send(left.get(), thread, sge(thread)), 0);
      if (!expect_success(own.get())) return;
      EXPECT_TRUE(is_filled(bytes(thread, 1), thread, round));
      // Any thread's.
      ibv_wc completion{};
      while (completed.load() < (round + 1) * kThreads) {
        if (ibv_poll_cq(common.get(), 1, &completion) != 1) continue;
        EXPECT_EQ(completion.status, IBV_WC_SUCCESS) << ibv_wc_status_str(completion.status);
        completed.fetch_add(1);
      }
    }
    all.arrive_and_wait();
  });
  EXPECT_EQ(completed.load(), kRounds * kThreads);
}

// The queue pairs that share receives have one lane, wherever the completion queues are.
TEST_F(Traffic, ThreadsShareReceives) {
  ibv_srq_init_attr init{};
  init.attr = {kThreads * 4, 1, 0};
  const SrqPtr srq(ibv_create_srq(pd_.get(), &init));
  ASSERT_NE(srq, nullptr);
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const Queues own = make_queues();  // its completion queue gets the thread's lane
    const QpPtr sharing = make_qp(own.cq.get(), own.cq.get(), IBV_QPT_RC, srq.get());
    connect(own.left.get(), sharing.get());
    all.arrive_and_wait();
    for (uint32_t round = 0; round < kRounds; ++round) {
      // Any thread's message may come there.
      ibv_sge element = sge(thread, 1);
      ibv_recv_wr request{};
      request.sg_list = &element;
      request.num_sge = 1;
      ibv_recv_wr* bad = nullptr;
      EXPECT_EQ(ibv_post_srq_recv(srq.get(), &request, &bad), 0);
      EXPECT_EQ(post_send(own.left.get(), 2, sge(thread)), 0);
      if (!expect_success(own.cq.get()) || !expect_success(own.cq.get())) return;
    }
    all.arrive_and_wait();
  });
}

TEST_F(Traffic, DatagramsToAddressesOfOthers) {
  constexpr uint32_t kKey = 0x1234;
  constexpr uint32_t kHeader = 40;
  ibv_ah_attr attr{};
  attr.is_global = 1;
  attr.port_num = 1;
  attr.grh.dgid = gid_;
  attr.grh.sgid_index = static_cast<uint8_t>(rc_errors::gid_index());
  attr.grh.hop_limit = 64;
  const verbs::AhPtr address_handle(ibv_create_ah(pd_.get(), &attr));
  ASSERT_NE(address_handle, nullptr);
  std::array<uint32_t, kThreads> numbers{};
  in_threads([&](uint32_t thread, std::barrier<>& all) {
    const CqPtr cq = make_cq();
    const QpPtr qp = make_qp(cq.get(), cq.get(), IBV_QPT_UD);
    numbers[thread] = qp->qp_num;
    rc_errors::Memory target(pd_.get(), kHeader + kSize);
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = 1;
    state.qkey = kKey;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &state,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
              0);
    EXPECT_EQ(rc_errors::modify_state(qp.get(), IBV_QPS_RTR), 0);
    state.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &state, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    EXPECT_EQ(post_receive(qp.get(), 1, target.sge(kHeader + kSize)), 0);
    all.arrive_and_wait();
    const uint32_t from = (thread + kThreads - 1) % kThreads;
    for (uint32_t round = 0; round < kRounds / 4; ++round) {
      fill(bytes(thread), thread, round);
      ibv_sge element = sge(thread);
      ibv_send_wr request{};
      request.sg_list = &element;
      request.num_sge = 1;
      request.opcode = IBV_WR_SEND;
      request.wr.ud = {address_handle.get(), numbers[(thread + 1) % kThreads], kKey};
      ibv_send_wr* bad = nullptr;
      EXPECT_EQ(ibv_post_send(qp.get(), &request, &bad), 0);
      for (int i = 0; i < 2; ++i) {
        if (!expect_success(cq.get())) std::abort();  // or the others would wait
      }
      EXPECT_TRUE(is_filled(target.bytes.data() + kHeader, from, round)) << thread << " " << round;
      all.arrive_and_wait();
      EXPECT_EQ(post_receive(qp.get(), 1, target.sge(kHeader + kSize)), 0);
      all.arrive_and_wait();
    }
  });
}

}  // namespace
}  // namespace lanes
