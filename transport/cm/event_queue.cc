// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/event_queue.h"

#include <utility>

namespace urxe {

void CmEventQueue::push(Communication& communication, CmEvent event) {
  communication.events.push_back(next_);
  try {
    events_.emplace_hint(events_.end(), next_, std::move(event));
  } catch (...) {
    communication.events.pop_back();
    throw;
  }
  ++next_;
}

void CmEventQueue::drop(Communication& communication) {
  for (const uint64_t age : communication.events) events_.erase(age);
  communication.events.clear();
}

CmEvent CmEventQueue::pop(Communication* communication) {
  CmEvent event = std::move(events_.begin()->second);
  events_.erase(events_.begin());
  if (communication != nullptr && !communication->events.empty()) {
    communication->events.erase(communication->events.begin());
  }
  return event;
}

}  // namespace urxe
