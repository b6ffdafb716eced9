// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>

#include "transport/cm/communications/communication.h"

namespace urxe {

/// The MADs to send. Holds twice as many as there may be communications, and some more that belong
/// to none. A MAD that finds no room is dropped and counted as kNoRoom: to the protocol it is lost.
class CmOutbox {
 public:
  CmOutbox(size_t max_ids, CmCounters& counters)
      : capacity_(2 * max_ids + kUnowned), counters_(&counters) {}

  void send(const Flow& flow, const SentMessage& message);
  /// Counted as a retry.
  void send_again(const Flow& flow, const SentMessage& message);
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  /// nullptr: none. Valid until the next call.
  const OutgoingMad* take();

 private:
  static constexpr size_t kUnowned = 1024;
  bool push(const Flow& flow, const SentMessage& message);

  size_t capacity_;
  CmCounters* counters_;
  std::deque<OutgoingMad> waiting_;
  OutgoingMad taken_;
};

}  // namespace urxe
