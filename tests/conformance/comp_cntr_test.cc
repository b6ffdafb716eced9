// SPDX-License-Identifier: BSD-2-Clause
// Completion counters, of rdma-core 65: the library may be older, and the headers are.
#include <dlfcn.h>

#include <thread>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct CompCntrHandle {  // ibv_comp_cntr
  ibv_context* context;
  uint32_t handle;
};
struct CompCntrInit {  // ibv_comp_cntr_init_attr
  uint32_t comp_mask, type, flags;
};
struct AttachCompCntr {  // ibv_qp_attach_comp_cntr_attr
  uint32_t comp_mask, op_mask;
};
enum CountedOperation : uint32_t {
  kCountSend = 1,
  kCountRecv = 2,
  kCountRead = 4,
  kCountRemoteRead = 8,
  kCountWrite = 16,
  kCountRemoteWrite = 32,
};

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

constexpr uint32_t kCountedBytes = 1000;

/// A counter that counts one kind of completions.
class OneCounter {
 public:
  OneCounter(ibv_context* context, uint32_t type) {
    CompCntrInit init{0, type, 0};
    const auto create = find<CompCntrHandle*(ibv_context*, CompCntrInit*)>("ibv_create_comp_cntr");
    handle_ = create(context, &init);
    EXPECT_NE(handle_, nullptr) << std::strerror(errno);
  }
  ~OneCounter() { EXPECT_EQ(destroy(), 0) << "it is still attached"; }
  OneCounter(const OneCounter&) = delete;
  OneCounter& operator=(const OneCounter&) = delete;

  int destroy() {
    if (handle_ == nullptr) return 0;
    const int result = find<int(CompCntrHandle*)>("ibv_destroy_comp_cntr")(handle_);
    if (result == 0) handle_ = nullptr;
    return result;
  }
  int attach(ibv_qp* qp, uint32_t operations) {
    AttachCompCntr attr{0, operations};
    return find<int(ibv_qp*, CompCntrHandle*, AttachCompCntr*)>("ibv_qp_attach_comp_cntr")(
        qp, handle_, &attr);
  }
  uint64_t value(const char* function = "ibv_read_comp_cntr") const {
    uint64_t value = 0;
    EXPECT_EQ(find<int(CompCntrHandle*, uint64_t*)>(function)(handle_, &value), 0);
    return value;
  }
  uint64_t errors() const { return value("ibv_read_err_comp_cntr"); }
  /// The count may come a little after the completion.
  void await(uint64_t expected) const {
    while (value() < expected) std::this_thread::yield();
    EXPECT_EQ(value(), expected);
  }

 private:
  CompCntrHandle* handle_ = nullptr;
};

struct CompCntr : PairConformance {
  void TearDown() override {
    local_.reset();
    remote_.reset();
    left_.reset();
    right_.reset();
    counters_.clear();
    Conformance::TearDown();
  }
  /// Unconnected queue pairs; the device is asked first.
  bool start() {
    CompCntrInit init{};
    const auto create = find<CompCntrHandle*(ibv_context*, CompCntrInit*)>("ibv_create_comp_cntr");
    CompCntrHandle* probe = create == nullptr ? nullptr : create(context(), &init);
    if (!need_if_any(probe != nullptr, "completion counters, and a library that has them")) {
      return false;
    }
    find<int(CompCntrHandle*)>("ibv_destroy_comp_cntr")(probe);
    make_pair({}, {});
    return !stopped();
  }
  OneCounter& count(ibv_qp* qp, uint32_t operations, uint32_t type = 0) {
    counters_.push_back(std::make_unique<OneCounter>(context(), type));
    EXPECT_EQ(counters_.back()->attach(qp, operations), 0);
    return *counters_.back();
  }
  void connect_both() {
    left_->connect_to(right_->number());
    right_->connect_to(left_->number());
    local_ = std::make_unique<Buffer>(left_->pd, kCountedBytes);
    remote_ = std::make_unique<Buffer>(right_->pd, kCountedBytes);
  }
  Send request(ibv_wr_opcode opcode) {
    Send send(1, opcode);
    send.data(local_->sge());
    if (opcode != IBV_WR_SEND) send.remote(remote_->address(), remote_->rkey());
    return send;
  }
  void run(ibv_wr_opcode opcode) {
    ASSERT_EQ(request(opcode).post(left_qp()), 0);
    expect_completion(left_done(), 1);
  }

  std::vector<std::unique_ptr<OneCounter>> counters_;
  std::unique_ptr<Buffer> local_, remote_;
};

TEST_F(CompCntr, CountsEachKindApart) {
  checks("ibv_qp_attach_comp_cntr(3): op_mask");
  if (!start()) return;
  const OneCounter& sends = count(left_qp(), kCountSend);
  const OneCounter& reads = count(left_qp(), kCountRead);
  const OneCounter& writes = count(left_qp(), kCountWrite);
  const OneCounter& receives = count(right_qp(), kCountRecv);
  const OneCounter& remote_reads = count(right_qp(), kCountRemoteRead);
  const OneCounter& remote_writes = count(right_qp(), kCountRemoteWrite);
  connect_both();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  run(IBV_WR_SEND);
  for (int i = 0; i < 2; ++i) run(IBV_WR_RDMA_READ);
  for (int i = 0; i < 3; ++i) run(IBV_WR_RDMA_WRITE);
  sends.await(1);
  receives.await(1);
  reads.await(2);
  remote_reads.await(2);
  writes.await(3);
  remote_writes.await(3);
  for (const auto& counter : counters_) EXPECT_EQ(counter->errors(), 0U);
}

TEST_F(CompCntr, CountsBytes) {
  checks("ibv_create_comp_cntr(3): IBV_COMP_CNTR_TYPE_BYTES");
  if (!start()) return;
  const OneCounter& sent = count(left_qp(), kCountSend | kCountWrite, 1);
  const OneCounter& received = count(right_qp(), kCountRecv | kCountRemoteWrite, 1);
  connect_both();
  if (stopped()) return;
  ASSERT_EQ(Recv(5).data(remote_->sge()).post(right_qp()), 0);
  run(IBV_WR_SEND);
  run(IBV_WR_RDMA_WRITE);
  sent.await(2 * kCountedBytes);
  received.await(2 * kCountedBytes);
}

TEST_F(CompCntr, CountsErrors) {
  checks("ibv_create_comp_cntr(3): the error count");
  if (!start()) return;
  const OneCounter& writes = count(left_qp(), kCountWrite);
  connect_both();
  if (stopped()) return;
  ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE)
                .data(local_->sge())
                .remote(remote_->address(), remote_->rkey() ^ 1)
                .post(left_qp()),
            0);
  EXPECT_EQ(next_completion(left_done()).status, IBV_WC_REM_ACCESS_ERR);
  while (writes.errors() == 0) std::this_thread::yield();
  EXPECT_EQ(writes.errors(), 1U);
  EXPECT_EQ(writes.value(), 0U);
}

TEST_F(CompCntr, IsAttachedBeforeRtr) {
  checks("ibv_qp_attach_comp_cntr(3): RESET or INIT");
  if (!start()) return;
  connect_both();
  if (stopped()) return;
  OneCounter counter(context(), 0);
  EXPECT_EQ(counter.attach(left_qp(), kCountSend), EINVAL);
}

TEST_F(CompCntr, IsBusyWhileAttached) {
  checks("ibv_destroy_comp_cntr(3): EBUSY; ibv_qp_attach_comp_cntr(3): EBUSY");
  if (!start()) return;
  OneCounter& counter = count(left_qp(), kCountSend);
  EXPECT_EQ(counter.destroy(), EBUSY);
  OneCounter other(context(), 0);
  EXPECT_EQ(other.attach(left_qp(), kCountSend | kCountRecv), EBUSY);
  left_.reset();
  EXPECT_EQ(counter.destroy(), 0);
}

}  // namespace
}  // namespace conformance
