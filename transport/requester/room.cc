// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/room.h"

#include <algorithm>
#include <utility>

#include "transport/requester/requester.h"

namespace urxe {
namespace {

/// What `packets` READ responses take in this device's receive buffer: they come in segmented
/// datagrams if the peer is of this kind.
uint32_t response_room(const QueuePair& qp, uint32_t packets) {
  return packets * receive_room(qp.mtu, true);
}

}  // namespace

uint32_t room_for(const QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
                  bool joins) {
  const uint32_t request =
      receive_room(packet_size(packet.headers.bth.opcode, packet.payload), joins);
  return is_read(wqe) ? request + response_room(qp, packet.psns) : request;
}

void take_room(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
               bool joins) {
  RequesterState& req = qp.requester;
  const uint32_t room = room_for(qp, wqe, packet, joins);
  qp.path->take(room);
  req.room += room;
  req.turn_left -= std::min(req.turn_left, room);
  if (!is_read(wqe)) return;
  req.read_room += response_room(qp, packet.psns);
  ca.reads.take(response_room(qp, packet.psns));
}

uint32_t give_back_room(QueuePair& qp, uint32_t packets) {
  RequesterState& req = qp.requester;
  const uint32_t in_flight = req.in_flight();
  const uint32_t room =
      packets >= in_flight
          ? req.room
          : static_cast<uint32_t>(static_cast<uint64_t>(req.room) * packets / in_flight);
  req.room -= room;
  if (qp.path != nullptr) qp.path->give_back(room);
  return room;
}

void note_responses(ChannelAdapter& ca, QueuePair& qp, uint32_t packets) {
  const uint32_t room = std::min(response_room(qp, packets), qp.requester.read_room);
  qp.requester.read_room -= room;
  ca.reads.give_back(ca, room);
}

void give_back_all(ChannelAdapter& ca, QueuePair& qp) {
  give_back_room(qp, qp.requester.in_flight());
  ca.reads.give_back(ca, std::exchange(qp.requester.read_room, 0));
}

}  // namespace urxe
