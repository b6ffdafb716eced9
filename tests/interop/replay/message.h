// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/aeth_syndrome.h"
#include "tests/interop/replay/conversation.h"

namespace urxe::replay {

/// What came of a request, by the recording.
enum class Outcome : uint8_t {
  kDone,
  kRefused,      ///< a NAK that ends the queue pair
  kRnrExceeded,  ///< RNR NAKs, and then the requester gave up
  kUnanswered,   ///< no answer, and then the requester gave up
};

/// A request message: what a work request became.
struct Message {
  Psn first;
  uint32_t packets = 1;  ///< PSNs that it takes, those of READ responses included
  Frames parts;          ///< its request packets in order, each as first recorded
  Instant posted;        ///< when the first of them that got through was recorded
  Outcome outcome = Outcome::kDone;
  NakCode nak{};  ///< of kRefused
  uint32_t rnr_naks = 0;
  std::optional<Instant> last_rnr_nak;
  uint32_t transmissions = 1;    ///< of its first packet
  std::vector<uint8_t> payload;  ///< of SEND and WRITE

  [[nodiscard]] Psn last() const { return first + (packets - 1); }
  [[nodiscard]] Operation operation() const { return parts.back()->operation(); }
  [[nodiscard]] const Headers& headers() const { return parts.front()->headers(); }
  /// The immediate data and the solicited event are in its last packet.
  [[nodiscard]] const Headers& last_headers() const { return parts.back()->headers(); }
  [[nodiscard]] bool covers(Psn psn) const {
    return !psn.is_before(first) && !psn.is_after(last());
  }
};

/// The messages of a conversation in the order of their PSNs, or why they cannot be told.
Expected<std::vector<Message>, std::string> find_messages(const Conversation& conversation);

/// What the recorded READ response with this PSN held, the first after `since` if there is one.
std::optional<std::span<const uint8_t>> find_read_data(const Conversation& conversation, Psn psn,
                                                       size_t since = 0);
/// What the recorded atomic acknowledge with this PSN found.
std::optional<uint64_t> find_original(const Conversation& conversation, Psn psn);

}  // namespace urxe::replay
