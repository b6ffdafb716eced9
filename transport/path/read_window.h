// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/base/intrusive_list.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

/// The READ responses that a device has asked for and that have not come, in bytes of its own
/// receive buffer (receive_room()). A path bounds what one peer sends; but the responses of all
/// peers come to one buffer, and only this device can bound them. Queue pairs that would ask for
/// more wait in line, and each asks for a piece in its turn.
class ReadWindow {
 public:
  explicit ReadWindow(uint32_t limit) { set_limit(limit); }
  /// One piece of a READ may always be asked for, however small the limit.
  void set_limit(uint32_t limit) { limit_ = std::max(limit, 1U); }

  enum class Admission : uint8_t {
    kGranted,  ///< the queue pair may ask for a piece now
    kNotYet,   ///< there is room; another queue pair has its turn first, and is active
    kNoRoom,
  };
  /// Whether the queue pair may ask for a piece now. If not it is in line afterwards.
  Admission admit(ChannelAdapter& ca, QueuePair& qp);
  /// Responses of `room` bytes were asked for.
  void take(uint32_t room) { outstanding_ += room; }
  /// So many have come, or are not waited for any more.
  void give_back(ChannelAdapter& ca, uint32_t room);
  /// The queue pair's turn ends: if it was called and has not asked, the next one is.
  void end_turn(ChannelAdapter& ca, QueuePair& qp);
  [[nodiscard]] bool somebody_waits() const { return !waiting_.empty(); }
  /// The queue pair does not wait any more.
  void leave_line(ChannelAdapter& ca, QueuePair& qp);

 private:
  [[nodiscard]] bool has_room() const { return outstanding_ < limit_; }
  void call_next(ChannelAdapter& ca);

  uint32_t limit_ = 0;
  uint32_t outstanding_ = 0;
  IntrusiveList<QueuePair, struct ReadingTag> waiting_;
  QueuePair* called_ = nullptr;  ///< was activated and may ask next
};

}  // namespace urxe
