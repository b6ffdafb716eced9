// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/ack_request.h"

#include <algorithm>

#include "transport/requester/requester.h"
#include "transport/requester/room.h"

namespace urxe {
namespace {

/// AckReq is set at least this often (in packets), however large the window.
constexpr uint32_t kMaxInterval = 16;
/// The same in a wide window (kWideWindow), which is one without loss. In a smaller one an ACK more
/// often reports a loss or makes room.
constexpr uint32_t kMaxIntervalInWideWindow = 64;

/// Whether the packet, which takes `room`, ends a turn, and a queue pair may have to wait for room
/// after it.
bool may_leave_no_room(const QueuePair& qp, uint32_t room) {
  if (qp.requester.turn_left > room) return false;
  const Path& path = *qp.path;
  return path.window() < kWideWindow || path.somebody_waits() || !path.has_room_for_turn();
}

}  // namespace

bool wants_ack(const QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet, bool pauses) {
  const RequesterState& req = qp.requester;
  const bool is_last = packet.headers.bth.psn + (packet.psns - 1) == wqe.last_psn();
  if (is_last || pauses || beyond_credits(req, wqe)) return true;
  if (may_leave_no_room(qp, room_for(qp, wqe, packet, false))) return true;
  const uint32_t window = qp.path->window();
  const uint32_t most = window < kWideWindow ? kMaxInterval : kMaxIntervalInWideWindow;
  return req.since_ack_request + 1 >= std::clamp(window / 4 / qp.mtu, 1U, most);
}

}  // namespace urxe
