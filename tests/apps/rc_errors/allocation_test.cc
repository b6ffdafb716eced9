// SPDX-License-Identifier: BSD-2-Clause
// ibv_create_qp() when memory runs out.
#include <cerrno>

#include "pair.h"
#include "tests/support/failing_allocations.h"

namespace rc_errors {
namespace {

using Allocations = PairTest;

// Whichever allocation fails: ENOMEM, and nothing that the queue pair would use is in use.
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

}  // namespace
}  // namespace rc_errors
