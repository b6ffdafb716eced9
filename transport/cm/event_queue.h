// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "transport/cm/communications/communication.h"

namespace urxe {

/// The events that the consumer has not taken yet. Bounded by the communications: each state is
/// entered at most once and causes at most one event. For alternate paths, the next event needs a
/// call of the consumer.
class CmEventQueue {
 public:
  void push(Communication& communication, CmEvent event);
  /// Drops the events of a communication.
  void drop(Communication& communication);
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const CmEvent& front() const { return events_.begin()->second; }
  /// `communication`: that of the front event; nullptr: it is gone.
  CmEvent pop(Communication* communication);

 private:
  std::map<uint64_t, CmEvent> events_;  ///< by age
  uint64_t next_ = 0;
};

}  // namespace urxe
