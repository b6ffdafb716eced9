// SPDX-License-Identifier: BSD-2-Clause
// Messages that arrive while memory runs out.
#include <functional>
#include <new>
#include <string>

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

/// What is told in the end, and the state.
std::string outcome(Bench& bench, CommId id) {
  std::string text = "events";
  while (const auto event = bench.cm.take_event()) {
    text += ' ' + std::to_string(static_cast<int>(event->kind));
  }
  text += ", state ";
  const auto state = bench.cm.state(id);
  return text + (state ? std::to_string(static_cast<int>(*state)) : "none");
}

/// Something that happens to a connection and happens again if nothing came of it.
struct Happening {
  const char* name;
  std::function<CommId(Bench&)> prepare;
  std::function<void(Bench&, CommId)> happen;
};

const Happening kHappenings[] = {
    {"REP", [](Bench& bench) { return bench.connect(); },
     [](Bench& bench, CommId id) { bench.receive(peer_reply(id)); }},
    {"RTU", [](Bench& bench) { return bench.accept(); },
     [](Bench& bench, CommId id) {
       bench.receive(CmRtu{kPeerId, id, {}});
     }},
    {"data", [](Bench& bench) { return bench.accept(); },
     [](Bench& bench, CommId) { bench.cm.first_request_received(kOurQpn, bench.now); }},
    {"LAP", [](Bench& bench) { return bench.accept_established(); },
     [](Bench& bench, CommId id) {
       CmLap lap;
       lap.local_comm_id = kPeerId;
       lap.remote_comm_id = id;
       lap.remote_qpn = kOurQpn;
       bench.receive(lap);
     }},
    {"accept", [](Bench& bench) { return bench.be_asked(); },
     [](Bench& bench, CommId id) {
       CmRep reply;
       reply.local_qpn = kOurQpn;
       (void)bench.cm.accept(id, reply, bench.now);
     }},
};

/// What comes of it if the `n`-th allocation fails, and it happens again later. `n` 0: none fails.
std::string outcome_with_failure(const Happening& what, int n, bool& has_failed) {
  Bench bench;
  const CommId id = what.prepare(bench);
  while (bench.cm.take_event()) continue;
  fail_allocation(n);
  try {
    what.happen(bench, id);
  } catch (const std::bad_alloc&) {
    EXPECT_STREQ(what.name, "accept") << "has no caller that could be told";
  }
  has_failed = n > 0 && !failure_is_due();
  fail_allocation(0);
  if (has_failed) {
    bench.advance(milliseconds(300));
    what.happen(bench, id);
  }
  return outcome(bench, id);
}

// The defect: a state was entered before what could fail, so the repetition was a duplicate, and
// nobody was told.
TEST(CmMemory, WhatHappensAgainIsToldInTheEnd) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (const Happening& what : kHappenings) {
    bool has_failed = false;
    const std::string expected = outcome_with_failure(what, 0, has_failed);
    int n = 1;
    for (;; ++n) {
      ASSERT_LT(n, 100);
      const std::string found = outcome_with_failure(what, n, has_failed);
      if (!has_failed) break;
      EXPECT_EQ(found, expected) << what.name << ", allocation " << n;
    }
    EXPECT_GT(n, 1) << what.name << ": nothing was allocated";
  }
}

// The defect: a REP whose second entry in the tables found no memory left the first one behind when
// its communication went. Expect: the peer's next request is a new one.
TEST(CmMemory, AReplyThatFindsNoneLeavesNothingBehind) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    Bench bench;
    bench.listen();
    const CommId id = bench.connect();
    fail_allocation(n);
    bench.receive(peer_reply(id));
    const bool all_succeeded = failure_is_due();
    fail_allocation(0);
    if (all_succeeded) return;
    bench.receive(peer_reply(id));
    bench.cm.destroy(id, bench.now);
    while (bench.advance_to_deadline()) continue;
    ASSERT_EQ(bench.cm.size(), 0U) << n;
    while (bench.cm.take_event()) continue;
    CmReq request = peer_request();
    request.local_comm_id = peer_reply(id).local_comm_id;
    bench.receive(request);
    bench.expect_event(Kind::kRequest);
  }
}

}  // namespace
}  // namespace urxe::test
