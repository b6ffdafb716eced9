// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/difference.h"

namespace urxe::replay {

const std::array<DifferenceRow, kDifferences>& difference_table() {
  using enum Difference;
  static constexpr std::array<DifferenceRow, kDifferences> kTable = {{
      {kSourcePort, "source_port", true, Right::kBoth,
       "the UDP source port, as long as it is a dynamic one: it is the sender's choice", "A17.4"},
      {kMigReq, "mig_req", true, Right::kUrxe,
       "MigReq is 1 here and 0 in rxe: a queue pair without an alternate path is migrated",
       "17.2.8"},
      {kAckReq, "ack_req", true, Right::kBoth,
       "AckReq in packets that do not end a message: where to ask is the requester's choice",
       "9.7.5.1.2"},
      {kCredits, "credits", true, Right::kBoth,
       "the credit count of an ACK: rxe says none is given, urxe what is posted", "9.7.7.2"},
      {kFaultyLink, "faulty_link", false, Right::kBoth,
       "a packet that the faulty link lost or moved before it was recorded: ours is in its place",
       "-"},
      {kOwnRepeat, "own_repeat", false, Right::kBoth,
       "a request that urxe repeats and the recorded requester did not, or did otherwise: it asks "
       "again by one packet after a short silence, and at once where a response shows that "
       "another one was lost",
       "9.7.6.1.3, 9.7.5.1"},
      {kRecordedRepeat, "recorded_repeat", false, Right::kBoth,
       "a request that the recorded requester repeats and urxe does not: all that is outstanding "
       "after a time-out, and by a timer that an ACK did not stop",
       "9.7.6.1.3"},
      {kUnrequestedAck, "unrequested_ack", false, Right::kBoth,
       "an ACK of a duplicate that asked for none: rxe acknowledges every duplicate", "9.7.5.1.2"},
      {kResumedRead, "resumed_read", false, Right::kUrxe,
       "the first response to a READ that is resumed in its middle: urxe begins with FIRST and an "
       "AETH, rxe goes on with MIDDLE",
       "9.7.5.1.4"},
      {kShortReceiveNak, "short_receive_nak", false, Right::kUrxe,
       "a SEND longer than the receive buffer: invalid request, where rxe says remote operational "
       "error",
       "9.9.3"},
  }};
  return kTable;
}

const DifferenceRow& row_of(Difference difference) {
  return difference_table().at(static_cast<size_t>(difference));
}

}  // namespace urxe::replay
