// SPDX-License-Identifier: BSD-2-Clause
// What ibv_wr_start() and ibv_wr_complete() promise of all that is built between them: all of it or
// nothing, at once, by one thread.
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "tests/conformance/support/call.h"
#include "tests/conformance/support/fixture.h"

namespace conformance::wr_batch_test {
namespace {

constexpr uint32_t kSize = 4096;
constexpr uint64_t kRcOperations = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                                   IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                   IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                   IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

struct WrBatch : PairConformance {
  /// Both sides build; the left one sends from local_ to remote_, which the right side owns.
  void start(QpConfig config = {}) {
    config.cap.max_inline_data = 256;
    if (config.send_ops == 0) config.send_ops = kRcOperations;
    connect_pair(config);
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, kSize);
    remote_ = std::make_unique<Buffer>(right_->pd, kSize, kAllAccess);
    local_->fill_pattern();
    qpx_ = ibv_qp_to_qp_ex(left_qp());
    ASSERT_NE(qpx_, nullptr);
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  ibv_qp_ex* begin(uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    qpx_->wr_id = id;
    qpx_->wr_flags = flags;
    return qpx_;
  }
  void set_data(uint32_t length, size_t offset = 0) {
    ibv_wr_set_sge(qpx_, local_->mr->lkey, local_->address(offset), length);
  }
  void receive(uint64_t id = 2) { ASSERT_EQ(Recv(id).data(remote_->sge()).post(right_qp()), 0); }
  void expect_same(uint32_t length) {
    EXPECT_EQ(std::memcmp(local_->bytes.data(), remote_->bytes.data(), length), 0);
    EXPECT_EQ(remote_->bytes[length], 0);
  }
  /// Nothing of a failed batch was posted, and the queue pair goes on.
  void expect_usable() {
    ibv_wr_start(qpx_);
    begin(77);
    ibv_wr_rdma_write(qpx_, remote_->rkey(), remote_->address());
    set_data(8);
    ASSERT_EQ(ibv_wr_complete(qpx_), 0);
    expect_completion(left_done(), 77);
    expect_empty(left_done());
    expect_same(8);
  }
  void expect_fails(int why, const std::function<void()>& build) {
    ibv_wr_start(qpx_);
    begin(1);
    ibv_wr_rdma_write(qpx_, remote_->rkey(), remote_->address(100));
    set_data(8);
    build();
    begin(2);
    ibv_wr_rdma_write(qpx_, remote_->rkey(), remote_->address(200));
    set_data(8);
    EXPECT_EQ(ibv_wr_complete(qpx_), why);
    expect_usable();
  }

  std::unique_ptr<Buffer> local_;
  std::unique_ptr<Buffer> remote_;
  ibv_qp_ex* qpx_ = nullptr;
};

TEST_F(WrBatch, EverySetterOfData) {
  checks("ibv_wr_post(3): DATA transfer setters");
  start();
  if (stopped()) return;
  const std::function<void()> setters[] = {
      [&] { set_data(90); },
      [&] {
        const ibv_sge list[] = {local_->sge(0, 50), local_->sge(50, 0), local_->sge(50, 40)};
        ibv_wr_set_sge_list(qpx_, 3, list);
      },
      [&] { ibv_wr_set_inline_data(qpx_, local_->bytes.data(), 90); },
      [&] {
        const ibv_data_buf list[] = {{local_->bytes.data(), 1}, {local_->bytes.data() + 1, 89}};
        ibv_wr_set_inline_data_list(qpx_, 2, list);
      }};
  uint8_t seed = 1;
  for (const bool write : {false, true}) {
    for (const auto& set : setters) {
      local_->fill_pattern(++seed);
      if (!write) receive();
      ibv_wr_start(qpx_);
      begin(1);
      write ? ibv_wr_rdma_write(qpx_, remote_->rkey(), remote_->address()) : ibv_wr_send(qpx_);
      set();
      ASSERT_EQ(ibv_wr_complete(qpx_), 0);
      expect_completion(left_done(), 1);
      if (!write) expect_completion(right_received(), 2);
      expect_same(90);
    }
  }
}

TEST_F(WrBatch, InlineDataIsCopiedAtOnce) {
  checks("ibv_wr_post(3): inline setters");
  start();
  if (stopped()) return;
  ibv_wr_start(qpx_);
  ibv_wr_rdma_write(begin(1), remote_->rkey(), remote_->address());
  uint8_t transient[8];
  std::memcpy(transient, local_->bytes.data(), sizeof transient);
  ibv_wr_set_inline_data(qpx_, transient, sizeof transient);
  std::memset(transient, 0xee, sizeof transient);
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  expect_completion(left_done(), 1);
  expect_same(8);
}

TEST_F(WrBatch, WithoutDataItHasNoBytes) {
  checks("ibv_wr_post(3): a builder without a setter of data");
  start();
  if (stopped()) return;
  receive();
  ibv_wr_start(qpx_);
  ibv_wr_send(begin(1));
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(expect_completion(right_received(), 2).byte_len, 0U);
}

TEST_F(WrBatch, UnsignaledMakesNoCompletion) {
  checks("ibv_wr_post(3): IBV_SEND_SIGNALED");
  QpConfig config;
  config.sq_sig_all = 0;
  start(config);
  if (stopped()) return;
  ibv_wr_start(qpx_);
  ibv_wr_rdma_write(begin(1, 0), remote_->rkey(), remote_->address());
  set_data(8);
  ibv_wr_rdma_write(begin(2), remote_->rkey(), remote_->address());
  set_data(8);
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  expect_completion(left_done(), 2);
  expect_empty(left_done());
}

TEST_F(WrBatch, NothingRunsBeforeItIsComplete) {
  checks("ibv_wr_post(3): no work is executed until ibv_wr_complete() returns");
  start();
  if (stopped()) return;
  ibv_wr_start(qpx_);
  ibv_wr_rdma_write(begin(1), remote_->rkey(), remote_->address());
  set_data(8);
  for (int i = 0; i < 1000; ++i) expect_empty(left_done());
  EXPECT_EQ(remote_->bytes[1], 0);
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  expect_completion(left_done(), 1);
}

TEST_F(WrBatch, OneThreadAtATime) {
  checks("ibv_wr_post(3): the critical region excludes other threads");
  QpConfig config;
  config.cap.max_send_wr = 512;
  config.cq_entries = 512;
  start(config);
  if (stopped()) return;
  constexpr int kBatches = 100;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kBatches; ++i) {
        ibv_wr_start(qpx_);
        for (uint64_t half = 0; half < 2; ++half) {
          ibv_wr_rdma_write(begin(thread * 2 + half), remote_->rkey(), remote_->address());
          set_data(8);
        }
        EXPECT_EQ(ibv_wr_complete(qpx_), 0);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int i = 0; i < 2 * kBatches; ++i) {
    const ibv_wc first = next_completion(left_done());
    ASSERT_EQ(first.status, IBV_WC_SUCCESS);
    ASSERT_EQ(next_completion(left_done()).wr_id, first.wr_id + 1) << "a batch was torn";
  }
}

// What a thread does between start and complete, it can do while another one waits for its end.
TEST_F(WrBatch, CallsBetweenStartAndComplete) {
  checks("ibv_wr_post(3): the critical region; ibv_modify_qp(3), ibv_query_qp(3)");
  start();
  if (stopped()) return;
  ibv_wr_start(qpx_);
  bool is_complete = false;
  const auto complete = [&] {
    if (std::exchange(is_complete, true)) return;
    EXPECT_EQ(ibv_wr_complete(qpx_), 0);
  };
  ibv_wr_rdma_write(begin(1), remote_->rkey(), remote_->address());
  set_data(8);
  std::thread modifier([&] { EXPECT_EQ(to_state(left_qp(), IBV_QPS_ERR), 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it waits, if it must
  EXPECT_TRUE(returns([&] { const Buffer made(left_->pd, kSize); }, complete)) << "ibv_reg_mr";
  EXPECT_TRUE(returns([&] { expect_empty(right_done()); }, complete)) << "ibv_poll_cq";
  EXPECT_TRUE(returns([&] { EXPECT_NE(create_cq(), nullptr); }, complete)) << "ibv_create_cq";
  complete();
  modifier.join();
  // It was posted before the change, or after it.
  const ibv_wc completion = next_completion(left_done());
  EXPECT_EQ(completion.wr_id, 1U);
  EXPECT_TRUE(completion.status == IBV_WC_SUCCESS || completion.status == IBV_WC_WR_FLUSH_ERR);
}

TEST_F(WrBatch, QueueThatIsFull) {
  checks("ibv_wr_post(3): an error of any request fails the whole batch");
  start();
  if (stopped()) return;
  const uint32_t places = query(left_qp()).cap.max_send_wr;
  expect_fails(ENOMEM, [&] {
    for (uint32_t i = 0; i < places; ++i) {
      ibv_wr_rdma_write(begin(3), remote_->rkey(), remote_->address(300));
      set_data(8);
    }
  });
}

TEST_F(WrBatch, ListThatIsTooLong) {
  checks("ibv_wr_post(3): invalid arguments");
  start();
  if (stopped()) return;
  const std::vector<ibv_sge> list(query(left_qp()).cap.max_send_sge + 1, local_->sge(0, 1));
  expect_fails(EINVAL, [&] {
    ibv_wr_rdma_write(begin(3), remote_->rkey(), remote_->address(300));
    ibv_wr_set_sge_list(qpx_, list.size(), list.data());
  });
}

TEST_F(WrBatch, InlineDataThatIsTooLong) {
  checks("ibv_wr_post(3): max_inline_data");
  start();
  if (stopped()) return;
  const uint32_t most = query(left_qp()).cap.max_inline_data;
  ASSERT_LT(most, kSize);
  expect_fails(EINVAL, [&] {
    ibv_wr_rdma_write(begin(3), remote_->rkey(), remote_->address(300));
    ibv_wr_set_inline_data(qpx_, local_->bytes.data(), most + 1);
  });
}

TEST_F(WrBatch, InlineDataOfARead) {
  checks("ibv_wr_post(3): inline data is valid only for SEND and RDMA_WRITE");
  start();
  if (stopped()) return;
  expect_fails(EINVAL, [&] {
    ibv_wr_rdma_read(begin(3), remote_->rkey(), remote_->address(300));
    ibv_wr_set_inline_data(qpx_, local_->bytes.data(), 8);
  });
}

TEST_F(WrBatch, ErrorStateFlushes) {
  checks("ibv_wr_post(3), ibv_modify_qp(3): a queue pair in ERR");
  start();
  if (stopped()) return;
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_ERR), 0);
  ibv_wr_start(qpx_);
  ibv_wr_send(begin(1));
  ibv_wr_send(begin(2));
  ASSERT_EQ(ibv_wr_complete(qpx_), 0);
  expect_completion(left_done(), 1, IBV_WC_WR_FLUSH_ERR);
  expect_completion(left_done(), 2, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace conformance::wr_batch_test
