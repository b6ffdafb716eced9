// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/delay.h"

#include <algorithm>
#include <cerrno>

#include "transport/cm/timers/probe.h"

namespace urxe {
namespace {

CmInput input_of(CmAnswered answered) {
  return answered == CmAnswered::kReq ? CmInput::kMraOfReq : CmInput::kMraOfRep;
}

/// Retransmits the message that the MRA acknowledges only after the time that the MRA asks for. A
/// further MRA grants that time again, but only after a retry, and in all no more than one MRA may
/// ask for; the remaining retries then follow as without an MRA. So a consumer that forgets a
/// request can keep its peer waiting for less than three minutes. (Linux has no such bound: it asks
/// for 69 s before each of fifteen retries.)
void wait_longer(CmCore& core, Communication& c, const CmMra& mra, Instant now) {
  if (c.retries_at_mra == c.retries_left) return;
  if (!c.patience_ends) c.patience_ends = now + cm_time(kMaxPeerTimeout);
  const Duration left = *c.patience_ends - now;
  if (left <= Duration{}) return;
  c.retries_at_mra = c.retries_left;
  c.next_is_early = false;
  const Duration asked = cm_time_of_peer(mra.service_timeout) + c.packet_lifetime;
  core.arm(c, std::min(left, std::max(asked, kLeastRetryInterval)), now);
}

MadFate receive_mra_of_lap(CmCore& core, Communication& c, const CmMra& mra,
                           const MadContext& context) {
  const AlternateStep step = alternate_step(c.alternate, AlternateInput::kMra);
  if (c.state != CmState::kEstablished || step.verdict == CmVerdict::kIllegal) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  c.alternate = step.next;
  wait_longer(core, c, mra, context.now);
  if (step.verdict == CmVerdict::kDuplicate) return kMadDuplicate;
  core.tell(c, CmEvent::Kind::kMra, mra, context.flow);
  return kMadReceived;
}

}  // namespace

void send_mra(CmCore& core, Communication& c, CmAnswered answered, uint8_t service_timeout,
              std::span<const uint8_t> private_data, uint64_t transaction_id) {
  CmMra mra;
  mra.local_comm_id = c.id;
  mra.remote_comm_id = c.remote_id;
  mra.answered = answered;
  mra.service_timeout = service_timeout & 0x1f;
  mra.private_data.assign(private_data);
  core.send_response(c, mra, transaction_id);
}

MadFate receive_mra(CmCore& core, const CmMra& mra, const MadContext& context) {
  const bool of_req = mra.answered == CmAnswered::kReq;
  const Addressee to =
      of_req ? find_answered(core, mra.remote_comm_id, context)
             : find_addressee(core, mra.remote_comm_id, mra.local_comm_id, context.flow);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  if (answers_probe(c, context)) return receive_probe_answer(core, c, context.now);
  if (mra.answered == CmAnswered::kOther) return receive_mra_of_lap(core, c, mra, context);
  const CmStep step = cm_step(c.state, input_of(mra.answered));
  if (step.verdict == CmVerdict::kIllegal) return mad_dropped(MadDropReason::kWrongState);
  c.state = step.next;  // the timer goes on
  wait_longer(core, c, mra, context.now);
  if (step.verdict == CmVerdict::kDuplicate) return kMadDuplicate;
  core.tell(c, CmEvent::Kind::kMra, mra, context.flow);
  return kMadReceived;
}

namespace {

Expected<void, Errno> delay_alternate_path(CmCore& core, Communication& c, uint8_t service_timeout,
                                           std::span<const uint8_t> private_data) {
  const AlternateStep step = alternate_step(c.alternate, AlternateInput::kDelay);
  if (step.verdict == CmVerdict::kIllegal) return error(EINVAL);
  send_mra(core, c, CmAnswered::kOther, service_timeout, private_data, c.alternate_transaction_id);
  c.alternate = step.next;
  return {};
}

}  // namespace

Expected<void, Errno> ConnectionManager::delay(CommId id, uint8_t service_timeout,
                                               std::span<const uint8_t> private_data, Instant now) {
  CmCore& core = begin_call();
  Communication* c = core.table.find(id);
  if (c == nullptr || c->forgotten) return error(EINVAL);
  if (c->state == CmState::kEstablished) {
    return delay_alternate_path(core, *c, service_timeout, private_data);
  }
  const CmStep step = cm_step(c->state, CmInput::kDelay);
  if (step.verdict == CmVerdict::kIllegal) return error(EINVAL);
  send_mra(core, *c, c->passive ? CmAnswered::kReq : CmAnswered::kRep, service_timeout,
           private_data, c->transaction_id);
  core.enter(*c, step.next, now);
  return {};
}

}  // namespace urxe
