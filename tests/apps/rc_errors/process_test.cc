// SPDX-License-Identifier: BSD-2-Clause
// Threads that share objects, and children of a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;

struct Process : PairTest {
  // One message each way over the pair.
  void exchange(uint8_t value) {
    Memory local(left_->pd.get(), kSize);
    Memory target(right_->pd.get(), kSize);
    local.bytes.assign(kSize, value);
    ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(kSize)), 0);
    ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(kSize)), 0);
    expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
    expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
    EXPECT_EQ(target.bytes, local.bytes);
  }

  // Forks a child that runs `end`, and goes on meanwhile and after.
  template <typename End>
  void fork_and_exchange(End end) {
    connect();
    exchange(1);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) end();
    exchange(2);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    for (uint8_t value = 3; value < 20; ++value) exchange(value);
  }
};

TEST_F(Process, ForkedChildLeavesAtOnce) {
  fork_and_exchange([] { ::_exit(0); });
}

TEST_F(Process, ForkedChildRunsExitHandlers) {
  fork_and_exchange([] { std::exit(0); });
}

TEST_F(Process, ForkedChildRunsAnotherProgram) {
  fork_and_exchange([] {
    ::execl("/bin/true", "true", static_cast<char*>(nullptr));
    ::_exit(1);
  });
}

int allocate_and_query(ibv_context* context) {
  ibv_device_attr device{};
  ibv_port_attr port{};
  ibv_gid gid{};
  if (ibv_query_device(context, &device) != 0) return 2;
  if (ibv_query_port(context, kPort, &port) != 0 || port.state != IBV_PORT_ACTIVE) return 3;
  if (ibv_query_gid(context, kPort, 0, &gid) != 0) return 4;
  ibv_alloc_dm_attr wanted{};
  wanted.length = 4096;
  ibv_dm* const memory = ibv_alloc_dm(context, &wanted);
  if (memory == nullptr) return 5;
  uint64_t in = 0x1122334455667788;
  uint64_t out = 0;
  if (ibv_memcpy_to_dm(memory, 8, &in, sizeof in) != 0) return 6;
  if (ibv_memcpy_from_dm(&out, memory, 8, sizeof out) != 0 || out != in) return 7;
  if (ibv_free_dm(memory) != 0) return 8;
  ibv_pd* const pd = ibv_alloc_pd(context);
  if (pd == nullptr) return 9;
  return ibv_dealloc_pd(pd) == 0 ? 0 : 10;
}

// As with a NIC after ibv_fork_init().
TEST_F(Process, ForkedChildAllocatesAndAsks) {
  fork_and_exchange([this] {
    const int failed = allocate_and_query(left_->pd->context);
    // What moves data belongs to the parent.
    uint64_t memory = 0;
    const bool refused =
        ibv_reg_mr(left_->pd.get(), &memory, sizeof memory, 0) == nullptr && errno == ENODEV;
    ::_exit(failed != 0 ? failed : refused ? 0 : 11);
  });
}

// Each thread posts on the same queue pair while another takes the completions.
TEST_F(Process, ThreadsShareAQueuePair) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kEach = 500;
  Settings settings;
  settings.send_entries = 64;
  connect(settings);
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  std::atomic<uint64_t> failures{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        int error = ENOMEM;
        while (error == ENOMEM) {
          error = post_rdma(left_->qp.get(), t << 32 | i, IBV_WR_RDMA_WRITE, local.sge(8),
                            target.address(), target.mr->rkey);
          if (error == ENOMEM) std::this_thread::yield();
        }
        if (error != 0) ++failures;
      }
    });
  }
  uint64_t next[kThreads] = {};
  for (uint64_t i = 0; i < kThreads * kEach; ++i) {
    const ibv_wc completion = next_completion(left_->cq.get());
    ASSERT_EQ(completion.status, IBV_WC_SUCCESS);
    const uint64_t thread = completion.wr_id >> 32;
    ASSERT_LT(thread, kThreads);
    EXPECT_EQ(completion.wr_id & 0xffffffff, next[thread]++);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0U);
}

// Many devices opened and closed: nothing is left behind that would make the next one fail.
TEST_F(Process, OpenAndCloseManyTimes) {
  for (int i = 0; i < 50; ++i) {
    ContextPtr context = open_device();
    ASSERT_NE(context, nullptr) << "after " << i << " times";
    Side side(context.get(), Settings{});
    ASSERT_NE(side.qp, nullptr);
  }
}

}  // namespace
}  // namespace rc_errors
