// SPDX-License-Identifier: BSD-2-Clause
// Verbs when memory runs out.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "pair.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/open_descriptors.h"

namespace rc_errors {
namespace {

using Allocations = PairTest;

// Whichever allocation fails: ENOMEM, nothing that the queue pair would use is in use, and the next
// one can be made.
TEST_F(Allocations, QueuePairThatCannotBeMade) {
  if (!urxe::test::can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 1000);
      const ContextPtr context = open_device();
      PdPtr pd(ibv_alloc_pd(context.get()));
      CqPtr cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
      // Address handles get their ports with the first UD queue pair.
      ibv_ah_attr address{};
      address.is_global = 1;
      address.port_num = kPort;
      address.grh.dgid = gid_;
      address.grh.sgid_index = static_cast<uint8_t>(gid_index());
      ibv_ah* const handle = ibv_create_ah(pd.get(), &address);
      ASSERT_NE(handle, nullptr);
      ibv_qp_init_attr init{};
      init.qp_type = type;
      init.send_cq = init.recv_cq = cq.get();
      init.cap = {4, 4, 1, 1, 0};
      errno = 0;
      urxe::test::fail_allocation(n);
      ibv_qp* const made = ibv_create_qp(pd.get(), &init);
      const bool all_succeeded = urxe::test::failure_is_due();
      urxe::test::fail_allocation(0);
      if (made == nullptr) {
        EXPECT_EQ(errno, ENOMEM) << n;
        ibv_qp* const later = ibv_create_qp(pd.get(), &init);
        ASSERT_NE(later, nullptr) << n;
        EXPECT_EQ(ibv_destroy_qp(later), 0);
      } else {
        EXPECT_EQ(ibv_destroy_qp(made), 0);
      }
      EXPECT_EQ(ibv_destroy_ah(handle), 0);
      EXPECT_EQ(ibv_destroy_cq(cq.release()), 0) << n;
      EXPECT_EQ(ibv_dealloc_pd(pd.release()), 0) << n;
      if (all_succeeded) break;
    }
  }
}

// The defect: it ended the program. Expect: none is needed.
TEST_F(Allocations, Fork) {
  if (!urxe::test::can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  urxe::test::fail_allocation(1);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_TRUE(urxe::test::failure_is_due()) << "something was allocated";
  urxe::test::fail_allocation(0);
  ASSERT_GT(child, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The defect: descriptors leaked. Expect: none are left of a device or a channel that cannot be
// opened.
TEST_F(Allocations, DeviceThatCannotBeOpened) {
  if (!urxe::test::can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  const size_t before = urxe::test::open_descriptors();
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 1000);
    urxe::test::fail_allocation(n);
    ibv_context* const context = ibv_open_device(context_->device);
    ibv_comp_channel* const channel =
        context != nullptr ? ibv_create_comp_channel(context) : nullptr;
    const bool all_succeeded = urxe::test::failure_is_due();
    urxe::test::fail_allocation(0);
    if (channel != nullptr) {
      EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    }
    if (context != nullptr) {
      EXPECT_EQ(ibv_close_device(context), 0);
    }
    ASSERT_EQ(urxe::test::open_descriptors(), before) << n;
    if (all_succeeded) break;
  }
}

// The defect: a queue pair that had got ENOMEM for a group stayed in it, and could not be
// destroyed.
TEST_F(Allocations, GroupThatCannotBeJoined) {
  if (!urxe::test::can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 1000);
    PdPtr pd(ibv_alloc_pd(context_.get()));
    CqPtr cq(ibv_create_cq(context_.get(), 16, nullptr, nullptr, 0));
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_UD;
    init.send_cq = init.recv_cq = cq.get();
    init.cap = {4, 4, 1, 1, 0};
    ibv_qp* const qp = ibv_create_qp(pd.get(), &init);
    ASSERT_NE(qp, nullptr);
    ibv_gid group{};
    group.raw[10] = group.raw[11] = 0xff;
    group.raw[12] = 239;
    group.raw[13] = 192;
    group.raw[15] = static_cast<uint8_t>(n);
    urxe::test::fail_allocation(n);
    const int attached = ibv_attach_mcast(qp, &group, 0);
    const bool all_succeeded = urxe::test::failure_is_due();
    urxe::test::fail_allocation(0);
    if (attached == 0) {
      EXPECT_EQ(ibv_detach_mcast(qp, &group, 0), 0);
    } else {
      EXPECT_EQ(attached, ENOMEM) << n;
    }
    EXPECT_EQ(ibv_destroy_qp(qp), 0) << n;
    EXPECT_EQ(ibv_destroy_cq(cq.release()), 0) << n;
    EXPECT_EQ(ibv_dealloc_pd(pd.release()), 0) << n;
    if (all_succeeded) break;
  }
}

}  // namespace
}  // namespace rc_errors
