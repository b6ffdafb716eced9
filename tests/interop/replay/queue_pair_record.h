// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <vector>

#include "tests/interop/replay/adapter.h"
#include "tests/interop/replay/ledger.h"
#include "tests/interop/replay/queue_pair_setup.h"
#include "tests/interop/replay/side_plan.h"

namespace urxe::replay {

/// A work request that was posted for a recorded message.
struct PostedRequest {
  const Talk* talk;
  const Message* message;
  std::vector<Sge> list;
};

/// What was posted to a queue pair under test and what came of it. The wr_id of a request is its
/// place in its list.
struct QueuePairRecord {
  const QueuePairPlan& plan;
  QueuePairQueues queues;
  std::vector<PostedRequest> sends{};
  std::vector<PostedRequest> receives{};
  std::vector<ibv_wc> send_completions{};
  std::vector<ibv_wc> receive_completions{};

  /// Takes the completions that are there.
  void poll();
};

/// Whether each request has completed as the recording says it must have, and READs and atomics
/// have brought what was recorded.
void check_sends(const QueuePairRecord& record, Ledger& ledger);

/// Whether each message that was carried out has its receive completion, and its bytes are there.
void check_receives(const QueuePairRecord& record, Ledger& ledger);

}  // namespace urxe::replay
