// SPDX-License-Identifier: BSD-2-Clause
#include "transport/channel_adapter.h"

#include "transport/completion_queue.h"
#include "transport/queue_pair.h"

namespace urxe {

void ChannelAdapter::complete(CompletionQueue& cq, QueuePair& qp, const ibv_wc& wc, bool solicited,
                              FreedSlots slots) {
  const bool was_in_error = cq.in_error();
  switch (cq.push(wc, solicited, slots)) {
    case CompletionQueue::Push::kQuiet:
      break;
    case CompletionQueue::Push::kNotify:
      if (!cq.notified) {
        cq.notified = true;
        notified.push_back(&cq);
      }
      break;
    case CompletionQueue::Push::kOverflow:
      ++counters.cq_overflows;
      qp.cq_failed = true;
      if (!was_in_error) events.push_back({IBV_EVENT_CQ_ERR, nullptr, &cq, nullptr});
      break;
  }
}

}  // namespace urxe
