// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/acknowledge.h"

#include <algorithm>

#include "transport/requester/completer.h"
#include "transport/requester/repair.h"
#include "transport/requester/requester.h"
#include "transport/requester/room.h"

namespace urxe {

void advance_oldest(ChannelAdapter& ca, QueuePair& qp, uint32_t packets) {
  RequesterState& req = qp.requester;
  const uint32_t in_flight = req.in_flight();
  const uint32_t position = qp.sq.oldest();
  const SendWqe& wqe = qp.sq.at(position);
  const Psn end = wqe.last_psn() + 1;
  const bool ends = req.oldest_unacked + packets == end;
  const bool passes_send_psn = packets > in_flight;
  const Psn target = req.oldest_unacked + packets;
  const uint32_t room = give_back_room(qp, packets);
  if (qp.path != nullptr) qp.path->on_acknowledged(room);
  if (is_read(wqe)) {
    note_responses(ca, qp, packets);
    req.kept.remove(req.oldest_unacked);
    // The responder keeps so many requests, and has to keep this one no longer.
    const bool ends_piece = ends || (packet_index(wqe, target) % qp.read_piece) == 0;
    if (ends_piece && req.rd_atomic_in_flight > 0) --req.rd_atomic_in_flight;
  }
  req.oldest_unacked = target;
  if (passes_send_psn) {
    // What was not sent again was perhaps kept; or the packet that the NAK named was only late.
    if (req.went_back_for_nak && qp.path != nullptr) ask_for_reports(ca, qp);
    req.send_psn = target;
    req.rd_atomic_in_flight = 0;
  }
  if (!ends) return;
  // Also if the element could not be sent again: the answer is to an earlier transmission.
  if (req.send_position == position) req.send_position = position + 1;
  complete_oldest_send(ca, qp);
  complete_local_operations(ca, qp);
}

uint32_t acknowledge(ChannelAdapter& ca, QueuePair& qp, uint32_t count) {
  const uint32_t wanted = count;
  while (count > 0) {
    const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
    if (has_response(wqe)) break;
    const uint32_t left = wqe.packets - packet_index(wqe, qp.requester.oldest_unacked);
    const uint32_t now = std::min(left, count);
    advance_oldest(ca, qp, now);
    count -= now;
  }
  return wanted - count;
}

}  // namespace urxe
