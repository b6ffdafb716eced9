// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/rejection.h"

#include <cerrno>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr size_t kGuidBytes = 8;

/// The message that an end rejects in this state.
CmAnswered rejected_in(CmState state) {
  switch (state) {
    case CmState::kReqReceived:
    case CmState::kMraReqSent:
      return CmAnswered::kReq;
    case CmState::kRepReceived:
    case CmState::kMraRepSent:
      return CmAnswered::kRep;
    default:
      return CmAnswered::kOther;
  }
}

/// A peer that has timed out names itself by its channel adapter and its id: it may not know our
/// id.
Communication* find_timed_out(CmCore& core, const CmRej& rej, const Flow& flow) {
  if (rej.reason != CmRejectReason::kTimeout || rej.additional_info.size < kGuidBytes) {
    return nullptr;
  }
  const uint64_t guid = load_be64(rej.additional_info.bytes.data());
  return core.table.find_remote_id(flow.source, guid, rej.local_comm_id);
}

Addressee find_rejected(CmCore& core, const CmRej& rej, const MadContext& context) {
  Communication* const timed_out = find_timed_out(core, rej, context.flow);
  if (timed_out != nullptr) return {timed_out, MadDropReason::kCount};
  const Addressee to = find_answered(core, rej.remote_comm_id, context);
  Communication* c = to.communication;
  if (c == nullptr) return to;
  // A peer that has not told its id yet may reject with it or without.
  if (c->remote_id != CommId{} && c->remote_id != rej.local_comm_id) {
    return {nullptr, MadDropReason::kUnknownId};
  }
  return to;
}

}  // namespace

void send_rej(CmCore& core, Communication& c, CmRejectReason reason, std::span<const uint8_t> info,
              std::span<const uint8_t> private_data) {
  CmRej rej;
  // After a REQ only, the peer has not seen our id.
  if (c.state != CmState::kReqReceived) rej.local_comm_id = c.id;
  rej.remote_comm_id = c.remote_id;
  rej.rejected = rejected_in(c.state);
  rej.reason = reason;
  rej.additional_info.assign(info);
  rej.private_data.assign(private_data);
  core.send_response(c, rej, c.transaction_id);
}

void send_rej_timeout(CmCore& core, Communication& c) {
  std::array<uint8_t, kGuidBytes> guid;
  store_be64(guid.data(), core.config.ca_guid);
  send_rej(core, c, CmRejectReason::kTimeout, guid, {});
}

MadFate answer_rej(CmCore& core, const MadContext& context, CmAnswered rejected,
                   CmRejectReason reason, CommId local_id, CommId remote_id) {
  CmRej rej;
  rej.local_comm_id = local_id;
  rej.remote_comm_id = remote_id;
  rej.rejected = rejected;
  rej.reason = reason;
  return core.send_unowned(context, rej);
}

MadFate receive_rej(CmCore& core, const CmRej& rej, const MadContext& context) {
  const Addressee to = find_rejected(core, rej, context);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  const bool stale = rej.reason == CmRejectReason::kStaleConnection;
  const CmStep step = cm_step(c.state, stale ? CmInput::kRejStale : CmInput::kRej);
  if (step.verdict == CmVerdict::kIllegal) return mad_dropped(MadDropReason::kWrongState);
  if (step.verdict == CmVerdict::kDuplicate) return kMadDuplicate;
  if (c.state == CmState::kDreqSent) {
    // Whatever the reason, the peer has no connection any more: our DREQ is answered.
    core.tell(c, CmEvent::Kind::kDisconnected, CmDrep{}, context.flow);
  } else {
    core.tell(c, CmEvent::Kind::kRejected, rej, context.flow);
  }
  core.enter(c, step.next, context.now);
  return kMadReceived;
}

Expected<void, Errno> ConnectionManager::reject(CommId id, CmRejectReason reason,
                                                std::span<const uint8_t> info,
                                                std::span<const uint8_t> private_data,
                                                Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kReject, &step);
  if (c == nullptr) return error(EINVAL);
  send_rej(core, *c, reason, info, private_data);
  core.enter(*c, step.next, now);
  return {};
}

}  // namespace urxe
