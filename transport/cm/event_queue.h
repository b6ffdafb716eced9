// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "transport/cm/communication.h"

namespace urxe {

/// What the consumers have not been told yet. Bounded by the communications: each state is entered
/// at most once and makes at most one event, but for alternate paths, where the next event needs a
/// call of the consumer's.
class CmEventQueue {
 public:
  void push(Communication& communication, CmEvent event);
  /// Nobody wants to know about the communication any more.
  void drop(Communication& communication);
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const CmEvent& front() const { return events_.begin()->second; }
  /// `communication`: of the front.
  CmEvent pop(Communication* communication);

 private:
  std::map<uint64_t, CmEvent> events_;  ///< by age
  uint64_t next_ = 0;
};

}  // namespace urxe
