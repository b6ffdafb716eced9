// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/wait_reason.h"

#include <algorithm>

#include "transport/requester/requester.h"

namespace urxe {
namespace {

bool waits_in_line(const QueuePair& qp) {
  return static_cast<const ListHook<struct WaitingTag>&>(qp).linked();
}
bool waits_for_read_room(const QueuePair& qp) {
  return static_cast<const ListHook<struct ReadingTag>&>(qp).linked();
}

/// UC and UD wait for tokens, or for room at a receiver on this host.
WaitReason reason_without_answers(const ChannelAdapter& ca, const QueuePair& qp) {
  const bool has_begun = qp.requester.send_position != qp.requester.assign_position;
  if (qp.state() == IBV_QPS_SQD && !has_begun) return WaitReason::kDrain;
  if (ca.pacing.contains(qp)) return WaitReason::kPacing;
  return ca.timers.contains(qp) ? WaitReason::kWindow : WaitReason::kNothing;
}

/// Of the element at the point of transmission, which begins with its next packet.
WaitReason reason_to_begin(const QueuePair& qp, const SendWqe& wqe) {
  const RequesterState& req = qp.requester;
  if (qp.state() == IBV_QPS_SQD) return WaitReason::kDrain;
  const bool is_fenced = (wqe.send_flags & IBV_SEND_FENCE) != 0 && req.rd_atomic_in_flight > 0;
  return is_fenced ? WaitReason::kFence : WaitReason::kNothing;
}

WaitReason reason_to_continue(const ChannelAdapter& ca, const QueuePair& qp, const SendWqe& wqe) {
  const RequesterState& req = qp.requester;
  const uint32_t limit = std::max<uint32_t>(qp.attr.max_rd_atomic, 1);
  if (has_response(wqe) && req.rd_atomic_in_flight >= limit) return WaitReason::kReads;
  const bool has_begun = req.send_position != req.assign_position;
  if (has_begun && beyond_credits(req, wqe)) return WaitReason::kCredits;
  if (ca.pacing.contains(qp)) return WaitReason::kPacing;
  if (waits_for_read_room(qp)) return WaitReason::kReadRoom;
  if (waits_in_line(qp)) return WaitReason::kWindow;
  return req.silences > 0 ? WaitReason::kAnswer : WaitReason::kNothing;
}

}  // namespace

WaitReason wait_reason(const ChannelAdapter& ca, QueuePair& qp) {
  const RequesterState& req = qp.requester;
  const ibv_qp_state state = qp.state();
  if (qp.sq.empty()) return WaitReason::kNothing;
  if (state != IBV_QPS_RTS && state != IBV_QPS_SQD) return WaitReason::kState;
  if (is_unreliable(qp.service)) return reason_without_answers(ca, qp);
  if (req.rnr_until) return WaitReason::kReceiverNotReady;
  if (req.send_position == qp.sq.posted()) return WaitReason::kAnswer;
  const SendWqe& wqe = qp.sq.at(req.send_position);
  if (req.send_position == req.assign_position) {
    const WaitReason reason = reason_to_begin(qp, wqe);
    if (reason != WaitReason::kNothing) return reason;
  }
  return reason_to_continue(ca, qp, wqe);
}

}  // namespace urxe
