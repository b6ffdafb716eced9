// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "packet/wire/headers.h"
#include "packet/wire/psn.h"
#include "packet/wire/types.h"
#include "transport/limits.h"
#include "transport/memory/memory_region.h"
#include "transport/responder/held_requests.h"

namespace urxe {

class CompletionQueue;
class SharedReceiveQueue;

/// A READ, atomic, or FLUSH that the responder has taken: pending while its response is being sent,
/// kept afterwards to answer duplicates (IBTA vol. 1, 9.4.3, 9.4.5). At most max_dest_rd_atomic are
/// kept.
struct ResponderResource {
  /// The last two are answered like a READ of no bytes.
  enum class Kind : uint8_t { kRead, kAtomic, kAtomicWrite, kFlush };

  Kind kind = Kind::kRead;
  bool pending = false;
  bool answered = false;  ///< the last response has been sent before: pending for a duplicate only
  Psn first_psn;
  uint32_t packets = 1;     ///< responses: PSNs that it takes
  uint32_t next = 0;        ///< index of the response to send next
  uint32_t resumed_at = 0;  ///< index of the first response of this execution
  uint32_t until = 0;       ///< one past the last response of this execution
  uint64_t va = 0;          ///< READ: of response 0
  RKey rkey;
  PdId pd;                    ///< READ: the key's
  uint64_t begins_at = 0;     ///< ResponderState::position of its first PSN
  uint32_t length = 0;        ///< READ: bytes from response 0
  uint32_t reply_length = 0;  ///< READ: where this execution ends, in bytes from response 0
  uint64_t original = 0;      ///< atomic: the value found
  Msn msn;
};

/// The ACK or NAK that is owed.
struct PendingAck {
  Psn psn;
  uint8_t syndrome = 0;  ///< AETH; an ACK's credits are filled in when it is sent
  bool is_nak = false;
};

/// A receive work queue element in use.
struct TakenReceive {
  uint64_t wr_id = 0;
  uint64_t length = 0;        ///< bytes of all elements of the list
  std::span<const Sge> list;  ///< stays until the element completes
  PdId pd;                    ///< the list's keys'
  CompletionQueue* cq = nullptr;
};

/// What is kept of the last packet of a SEND with invalidate.
struct HeldSend {
  explicit HeldSend(const Headers& headers) : bth(headers.bth), invalidate(headers.invalidate) {}
  [[nodiscard]] Headers headers() const {
    Headers all;
    all.bth = bth;
    all.invalidate = invalidate;
    return all;
  }

  Bth bth;
  RKey invalidate;
};

/// The state of a queue pair's responder (IBTA vol. 1, 9.7.4).
struct ResponderState {
  Psn expected_psn;
  uint64_t position = 0;  ///< PSNs executed so far: tells those apart that have wrapped
  Psn acknowledgeable;    ///< the last packet executed that an ACK may name: no READ, no atomic
  Msn msn;
  Msn told_msn;  ///< that of the last answer that was sent
  /// A sequence or RNR NAK was sent: no further one until expected_psn comes.
  bool nak_outstanding = false;
  bool rnr_nak_outstanding = false;  ///< of the two, the latter

  enum class Message : uint8_t { kNone, kSend, kWrite };
  Message message = Message::kNone;   ///< the one under way
  PdId pd;                            ///< of the requests' remote keys
  SharedReceiveQueue* srq = nullptr;  ///< XRC: named by the last request; nullptr: none
  std::optional<TakenReceive> receive;
  /// The last packet of a SEND with invalidate whose data has been placed. It is executed when the
  /// READs through its key have been answered; until then no other request is.
  std::optional<HeldSend> held_send;
  std::optional<Psn> newest_behind_held;  ///< of the requests that came meanwhile
  bool reports_gaps = false;              ///< the peer has asked for it
  Psn gap_query;                          ///< the number of its last query
  uint32_t gaps_due = 0;
  std::array<Gap, 8> gaps{};  ///< to be reported
  HeldLine held;              ///< packets that came behind a gap (ChannelAdapter::held)
  // SEND.
  uint64_t received = 0;  ///< bytes placed of the current message
  // WRITE.
  uint64_t write_va = 0;  ///< of the next byte
  RKey write_rkey;
  uint32_t write_length = 0;  ///< of the whole message
  uint32_t write_left = 0;

  std::optional<PendingAck> ack;
  uint32_t unacked_packets = 0;   ///< request packets since the last ACK was sent
  uint32_t unacked_at_start = 0;  ///< the same, up to the first one of the last message
  bool ack_urgent = false;        ///< the answer goes out with the next transmission
  bool ack_holds_up = false;      ///< the same: the requester may be waiting for it
  bool established = false;       ///< note_first_request() has been called

  // Ring of the last max_dest_rd_atomic READs and atomics, in PSN order. Those that lie more than
  // half the PSNs back answer no duplicate any more.
  std::unique_ptr<ResponderResource[]> resources;
  uint32_t resource_capacity = 0;
  uint32_t resource_end = 0;  ///< position of the next new one
  uint32_t resource_count = 0;
  uint32_t pending_resources = 0;
  uint32_t first_pending = 0;  ///< position before which none is pending, if it is in the ring

  /// The next `psns` have been executed.
  void advance(uint32_t psns) {
    expected_psn = expected_psn + psns;
    position += psns;
  }
};

}  // namespace urxe
