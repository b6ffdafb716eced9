// SPDX-License-Identifier: BSD-2-Clause
// A program that becomes another user, or goes to another network namespace, after its first queue
// pair: those that it makes then have the addresses of the first. Each test in a process of its
// own, as root.
#include <sched.h>
#include <unistd.h>

#include "support.h"

namespace lanes {
namespace {

using Identity = LanesTest;

void exchange(const Queues& queues, ibv_sge from, ibv_sge to) {
  ASSERT_EQ(post_receive(queues.right.get(), 1, to), 0);
  ASSERT_EQ(post_send(queues.left.get(), 2, from), 0);
  EXPECT_TRUE(expect_success(queues.cq.get()));
  EXPECT_TRUE(expect_success(queues.cq.get()));
}

TEST_F(Identity, AnotherUser) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const Queues before = make_queues();
  connect(before.left.get(), before.right.get());
  ASSERT_EQ(setuid(kNobody), 0);
  const Queues after = make_queues();
  connect(after.left.get(), after.right.get());
  exchange(after, sge(0), sge(0, 1));
  exchange(before, sge(1), sge(1, 1));
}

TEST_F(Identity, AnotherNetwork) {
  const Queues before = make_queues();
  connect(before.left.get(), before.right.get());
  if (unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "needs root";
  const Queues after = make_queues();
  connect(after.left.get(), after.right.get());
  exchange(after, sge(0), sge(0, 1));
}

}  // namespace
}  // namespace lanes
