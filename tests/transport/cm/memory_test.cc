// SPDX-License-Identifier: BSD-2-Clause
// Messages that arrive while memory runs out.
#include "tests/support/failing_allocations.h"
#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

/// The peer's request arrives while the `n`-th allocation fails, and, if it was lost by that, once
/// more. Returns whether all allocations succeeded.
template <class Request>
bool ask_while_memory_is_short(Bench& bench, const Request& request, int n, Kind expected) {
  fail_allocation(n);
  bench.receive(request);
  const bool all_succeeded = failure_is_due();
  fail_allocation(0);
  if (!bench.cm.has_event()) bench.receive(request);
  const CommId id = bench.expect_event(expected).id;
  bench.expect_no_event();
  EXPECT_EQ(bench.cm.size(), 1U) << n;
  bench.cm.destroy(id, bench.now);
  while (bench.advance_to_deadline()) continue;
  EXPECT_EQ(bench.cm.size(), 0U) << n;
  return all_succeeded;
}

TEST(CmMemory, ARequestThatFindsNoneIsAsIfItWereLost) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  int n = 1;
  for (;; ++n) {
    ASSERT_LT(n, 100);
    Bench bench;
    bench.listen();
    if (ask_while_memory_is_short(bench, peer_request(), n, Kind::kRequest)) break;
  }
  EXPECT_GT(n, 5) << "nothing was allocated";
}

TEST(CmMemory, ASearchForAServiceThatFindsNoneIsAsIfItWereLost) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  CmSidrReq request;
  request.request_id = kPeerId;
  request.service_id = kService;
  int n = 1;
  for (;; ++n) {
    ASSERT_LT(n, 100);
    Bench bench;
    bench.listen();
    if (ask_while_memory_is_short(bench, request, n, Kind::kServiceRequest)) break;
  }
  EXPECT_GT(n, 5) << "nothing was allocated";
}

// Expect: a time-out that cannot be told now is told later.
TEST(CmMemory, ATimeOutIsToldInTheEnd) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    Bench bench;
    bench.connect();
    bool all_succeeded = true;
    while (!bench.cm.has_event()) {
      fail_allocation(n);
      ASSERT_TRUE(bench.advance_to_deadline()) << n;
      all_succeeded = all_succeeded && failure_is_due();
      fail_allocation(0);
    }
    bench.expect_event(Kind::kRequestTimeout);
    if (all_succeeded) return;
  }
}

}  // namespace
}  // namespace urxe::test
