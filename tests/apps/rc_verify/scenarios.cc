// SPDX-License-Identifier: BSD-2-Clause
// The scenarios that are batches of plans.
#include "scenarios.h"

#include <cstdio>
#include <functional>

#include "batch.h"
#include "failure.h"
#include "plan.h"

namespace rc_verify {
namespace {

enum KeyPart : uint64_t { kSizesKey = 1, kRandomKey = 2, kHugeKey = 3 };

PlanLimits limits_of(const Session& session, uint32_t max_sge, uint32_t max_inline) {
  const TestOptions& test = session.test;
  PlanLimits limits;
  limits.max_size =
      test.in_line > 0 ? std::min<uint64_t>(test.max_size, max_inline) : test.max_size;
  limits.no_empty = test.no_empty != 0;
  limits.budget = test.budget;
  limits.messages = test.messages;
  limits.path_mtu = test.path_mtu;
  limits.max_sge = max_sge;
  limits.max_inline = max_inline;
  limits.operations = test.operations;
  limits.all_inline = test.in_line > 0;
  limits.fences = test.no_fence == 0;
  limits.pieces = test.pieces;
  limits.closing_send = test.transport == Transport::kUnreliable;
  return limits;
}

// The two sides' devices may differ: a plan keeps to what both can.
PlanLimits common_limits(Session& session) {
  const std::vector<uint32_t> ours = {session.endpoint.max_sge(), session.endpoint.max_inline()};
  const std::vector<uint32_t> theirs = session.control.exchange(ours);
  return limits_of(session, std::min(ours[0], theirs[0]), std::min(ours[1], theirs[1]));
}

using MakePlan = std::function<Plan(PatternKey)>;

enum class Share { kAll, kFirstOfClient };

// Runs one batch with a plan of `make` for each queue pair and direction, or for the client's first
// queue pair only.
void run_batch(Session& session, const std::string& name, KeyPart scenario, uint64_t number,
               const MakePlan& make, Share share = Share::kAll) {
  std::vector<Plan> ours;
  std::vector<Plan> theirs;
  const PlanLimits nothing{};
  for (uint64_t qp = 0; qp < session.endpoint.queue_pairs(); ++qp) {
    const auto plan_of = [&](bool by_server) {
      const PatternKey key =
          make_key({session.test.seed, scenario, number, qp, by_server ? 1ULL : 0ULL});
      const bool silent = by_server && (session.test.one_way != 0 || share != Share::kAll);
      const bool empty = silent || (qp > 0 && share != Share::kAll);
      return empty ? random_plan(key, nothing) : make(key);
    };
    ours.push_back(plan_of(session.is_server));
    theirs.push_back(plan_of(!session.is_server));
  }
  Batch(session.endpoint, session.control, session.test, name, std::move(ours), std::move(theirs))
      .run();
}

void report(const Session& session, const std::string& text) {
  if (session.quiet) return;
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace

void run_sizes(Session& session) {
  const PlanLimits limits = common_limits(session);
  const auto sizes = interesting_sizes(limits.path_mtu, limits.max_size);
  const auto operations = std::count_if(std::begin(kAllOperations), std::end(kAllOperations),
                                        [&](Operation o) { return contains(limits, o); });
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t size = sizes[i];
    run_batch(session, format("size %llu", static_cast<unsigned long long>(size)), kSizesKey, i,
              [&](PatternKey key) { return size_plan(key, limits, size); });
  }
  report(session, format("sizes: %zu sizes up to %llu bytes by %td operations verified",
                         sizes.size(), static_cast<unsigned long long>(sizes.back()), operations));
}

void run_random(Session& session) {
  const PlanLimits limits = common_limits(session);
  for (uint64_t i = 0; i < session.test.batches; ++i) {
    run_batch(session, format("random batch %llu", static_cast<unsigned long long>(i)), kRandomKey,
              i, [&](PatternKey key) { return random_plan(key, limits); });
  }
  report(session, format("random: %u batches on %u queue pairs verified", session.test.batches,
                         session.endpoint.queue_pairs()));
}

void run_huge(Session& session) {
  if (session.test.huge_size == 0) return;
  PlanLimits limits = common_limits(session);
  limits.max_size = session.test.huge_size;
  limits.budget = session.test.huge_size;
  for (Operation operation : {Operation::kSend, Operation::kWrite, Operation::kRead}) {
    if (!contains(limits, operation)) continue;
    run_batch(
        session, std::string("huge ") + name_of(operation), kHugeKey,
        static_cast<uint64_t>(operation),
        [&](PatternKey key) { return single_plan(key, limits, operation, session.test.huge_size); },
        Share::kFirstOfClient);
    report(session, format("huge: %s of %llu bytes verified", name_of(operation),
                           static_cast<unsigned long long>(session.test.huge_size)));
  }
}

}  // namespace rc_verify
