// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/cm_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "transport/cm/timers/timers.h"

namespace urxe {
namespace {

SentMessage compose(CmBody body, uint64_t transaction_id) {
  const CmAttribute attribute = attribute_of(body);
  return {emit_cm_message({transaction_id, std::move(body)}), attribute};
}

/// Communications that one call releases, as a rule.
constexpr size_t kReleasedAtOnce = 256;

bool waits_for_rtu_in(CmState state) {
  return state == CmState::kRepSent || state == CmState::kMraRepReceived;
}

Addressee find_of_peer(CmCore& core, CommId local_id, const Flow& flow) {
  Communication* c = core.table.find(local_id);
  if (c == nullptr || c->state == CmState::kIdle) return {nullptr, MadDropReason::kUnknownId};
  if (!(c->flow.destination == flow.source)) return {nullptr, MadDropReason::kWrongPeer};
  return {c, MadDropReason::kCount};
}

}  // namespace

Duration cm_time(uint8_t exponent) {
  return nanoseconds(int64_t{4096} << std::min<uint8_t>(exponent, 31));
}
Duration cm_time_of_peer(uint8_t exponent) {
  return cm_time(std::min(exponent, kMaxPeerTimeout));
}

Flow reversed(const Flow& flow) {
  Flow answer;
  answer.source = flow.destination;
  answer.destination = flow.source;
  answer.traffic_class = flow.traffic_class & 0xfc;  // the sender's congestion mark is not ours
  return answer;
}

CmCore::CmCore(const CmConfig& cm_config)
    : config(cm_config),
      ids(cm_config.id_secret, cm_config.id_prefix),
      listeners(cm_config.max_ids),
      requests(cm_config),
      answers(cm_config.id_secret),
      recent_answers(cm_config.id_secret),
      outbox(cm_config.max_ids, counters) {
  quiet.reserve(kMaxQuiet);
}

/// Time-wait keeps late messages from a new connection, and may last minutes if the peer says so.
/// That is worth less than the new connection: otherwise a peer that connects and disconnects often
/// would take all ids.
bool CmCore::make_room() {
  const size_t limit = std::min<size_t>(config.max_ids, size_t{1} << (kCommIdIndexBits - 1));
  if (table.size() < limit) return true;
  Communication* const oldest = forgotten_time_waits.front();
  if (oldest == nullptr) return false;
  release(*oldest);
  return true;
}

Communication* CmCore::create() {
  if (!make_room()) return nullptr;
  try {
    deadlines.reserve(table.size() + 1);
    released.reserve(kReleasedAtOnce);
    Communication* made = nullptr;
    while (made == nullptr) made = table.add(ids.next_id());
    return made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void CmCore::release(Communication& c) {
  deadlines.remove(c);
  forgotten_time_waits.remove(c);
  events.drop(c);
  requests.leave(c);
  released.push_back(table.take(c));
}

void CmCore::enter(Communication& c, CmState next, Instant now) {
  c.state = next;
  c.alternate = AlternateState::kNone;
  deadlines.remove(c);
  forgotten_time_waits.remove(c);
  if (next != CmState::kEstablished) processes.unlink(c);
  if (!waits_for_rtu_in(next)) table.unlink_waiting_for_rtu(c);
  if (next == CmState::kTimeWait) {
    table.unlink_remote_qpn(c);
    if (c.forgotten) forgotten_time_waits.push_back(c);
    const bool unconfirmed = c.source != nullptr && c.half_open != HalfOpen::kConfirmed;
    arm(c, unconfirmed ? std::min(c.time_wait, kUnconfirmedTimeWait) : c.time_wait, now);
  }
  if (c.source != nullptr) follow_request(c, next);
  if (next == CmState::kIdle) {
    table.unlink_all(c);
    if (c.forgotten) release(c);
  }
}

void CmCore::forget(Communication& c) {
  c.forgotten = true;
  events.drop(c);
  if (c.state == CmState::kTimeWait) forgotten_time_waits.push_back(c);
}

void CmCore::arm(Communication& c, Duration after, Instant now) {
  deadlines.set(c, now + std::max(after, nanoseconds(1)));
}

void CmCore::send_request(Communication& c, CmBody body, uint64_t transaction_id, Duration timeout,
                          Instant now) {
  c.request = compose(std::move(body), transaction_id);
  c.retries_left = c.max_retries;
  c.retries_at_mra.reset();
  c.patience_ends.reset();
  c.request_timeout = timeout;
  c.early_retries = 0;
  c.next_is_early = config.first_retry > Duration{};
  outbox.send(c.flow, c.request);
  await_answer(*this, c, now);
}

void CmCore::send_response(Communication& c, CmBody body, uint64_t transaction_id) {
  c.response = compose(std::move(body), transaction_id);
  outbox.send(c.flow, c.response);
}

void CmCore::repeat_request(Communication& c) {
  if (c.request.attribute) outbox.send_again(c.flow, c.request);
}

void CmCore::repeat_response(Communication& c) {
  if (c.response.attribute) outbox.send_again(c.flow, c.response);
}

bool CmCore::may_repeat(Communication& c, Instant now) {
  if (now < c.may_repeat_at) return false;
  c.may_repeat_at = now + kLeastRetryInterval;
  return true;
}

void CmCore::send_message(const Flow& flow, CmBody body, uint64_t transaction_id) {
  outbox.send(flow, compose(std::move(body), transaction_id));
}

void CmCore::answer_peer(const MadContext& context, CmBody body) {
  const SentMessage answer = compose(std::move(body), context.transaction_id);
  const Gid& peer = context.flow.source;
  if (recent_answers.has(peer, answer.mad, kLeastRetryInterval, context.now)) return;
  outbox.send(reversed(context.flow), answer);
}

MadFate CmCore::send_unowned(const MadContext& context, CmBody body) {
  const SentMessage answer = compose(std::move(body), context.transaction_id);
  const Gid& peer = context.flow.source;
  if (recent_answers.has(peer, answer.mad, kLeastRetryInterval, context.now)) return kMadDuplicate;
  if (answers.take(peer, context.now)) {
    outbox.send(reversed(context.flow), answer);
  } else {
    ++counters.drops[static_cast<size_t>(MadDropReason::kOverQuota)];
  }
  return kMadReceived;
}

void CmCore::tell(Communication& c, CmEvent::Kind kind, CmBody body, const Flow& flow) {
  if (c.forgotten) return;
  CmEvent event;
  event.kind = kind;
  event.id = c.id;
  event.listener = c.listener;
  event.flow = flow;
  event.body = std::move(body);
  events.push(c, std::move(event));
}

void CmCore::tell(Communication& c, CmEvent::Kind kind, CmBody body) {
  tell(c, kind, std::move(body), reversed(c.flow));
}

void CmCore::tell_quiet(const Flow& flow) {
  const Flow from_peer = reversed(flow);
  const auto is_same = [&](const Flow& other) {
    return other.source == from_peer.source && other.destination == from_peer.destination;
  };
  if (quiet.size() == kMaxQuiet || std::ranges::any_of(quiet, is_same)) return;
  quiet.push_back(from_peer);
}

void CmCore::take_request(RequestSource& source, Communication& c, CmBody body, const Flow& flow) {
  c.held_back->kind = c.state == CmState::kSidrReqReceived ? CmEvent::Kind::kServiceRequest
                                                           : CmEvent::Kind::kRequest;
  c.held_back->id = c.id;
  c.held_back->listener = c.listener;
  c.held_back->flow = flow;
  c.held_back->body = std::move(body);
  c.forgotten = true;
  requests.add(source, c);
  tell_of_requests(&source.key);
}

void CmCore::tell_of_requests(const RequestSource::Key* source) {
  while (Communication* c = requests.take_next(source)) {
    c->forgotten = false;
    try {
      events.push(*c, std::move(*c->held_back));
    } catch (const std::bad_alloc&) {
      c->forgotten = true;  // as if the request had been lost
      enter(*c, CmState::kIdle, Instant{});
      continue;
    }
    c->held_back.reset();
  }
}

void CmCore::follow_request(Communication& c, CmState next) {
  const RequestSource::Key source = c.source->key;
  switch (next) {
    case CmState::kEstablished:
    case CmState::kDreqSent:
    case CmState::kDreqReceived:
      requests.on_confirmed(c);
      break;
    case CmState::kTimeWait:
    case CmState::kIdle:
      requests.leave(c);
      break;
    default:
      return;
  }
  tell_of_requests(&source);
}

Communication* find_for_verb(CmCore& core, CommId id, CmInput input, CmStep* step) {
  Communication* c = core.table.find(id);
  if (c == nullptr || c->forgotten) return nullptr;
  *step = cm_step(c->state, input);
  return step->verdict == CmVerdict::kIllegal ? nullptr : c;
}

Addressee find_addressee(CmCore& core, CommId local_id, CommId remote_id, const Flow& flow) {
  const Addressee found = find_of_peer(core, local_id, flow);
  const bool is_anothers =
      found.communication != nullptr && found.communication->remote_id != remote_id;
  return is_anothers ? Addressee{nullptr, MadDropReason::kUnknownId} : found;
}

Addressee find_answered(CmCore& core, CommId local_id, const MadContext& context) {
  const Addressee found = find_of_peer(core, local_id, context.flow);
  const Communication* c = found.communication;
  const bool is_forged =
      c != nullptr && c->remote_id == CommId{} && c->transaction_id != context.transaction_id;
  return is_forged ? Addressee{nullptr, MadDropReason::kWrongPeer} : found;
}

}  // namespace urxe
