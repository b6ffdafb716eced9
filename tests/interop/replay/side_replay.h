// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "tests/interop/replay/ledger.h"
#include "tests/interop/replay/local_buffers.h"
#include "tests/interop/replay/queue_pair_record.h"
#include "tests/interop/replay/side_plan.h"
#include "tests/interop/replay/target_memory.h"

namespace urxe::replay {

/// Replays a recording with the device under test in the place of one of its two sides: at the
/// recorded times it is given what the other side sent, and requests are posted when the recorded
/// side's first packet of them was seen. Then what it did is held against the recording.
class SideReplay {
 public:
  SideReplay(const Story& story, const SidePlan& plan);

  void run();

  // What does not agree goes into the ledger.
  void check_requester(Ledger& ledger) const;
  void check_responder(Ledger& ledger) const;

 private:
  /// What happens at a time of the recording; in the order of the file where times are the same.
  struct Action {
    Instant time;
    size_t order;
    std::function<void()> act;
  };

  void at(Instant time, size_t order, std::function<void()> act);
  void plan_sends(QueuePairRecord& record, const Talk& talk);
  void plan_receives(QueuePairRecord& record);
  void plan_requests(const Talk& talk);
  void plan_responses(const Talk& talk);

  void post_send(QueuePairRecord& record, const Talk& talk, const Message& message, bool fenced);
  void post_receive(QueuePairRecord& record, const Talk& talk, const Message& message);
  void receive_request(const Talk& talk, const Frame& frame);
  void receive_translated(const Frame& frame);

  void act_until_the_end();
  void wait_for_completions();
  [[nodiscard]] Frames sent_in(const Conversation& conversation, bool requests) const;
  void check_device(Ledger& ledger) const;

  const Story& story_;
  Adapter adapter_;
  LocalBuffers buffers_;
  TargetMemory memory_;
  std::deque<QueuePairRecord> records_;
  std::vector<Action> actions_;
};

}  // namespace urxe::replay
