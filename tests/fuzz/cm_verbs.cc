// SPDX-License-Identifier: BSD-2-Clause
// What the consumer does in a fuzzed conversation: any verb at any time.
#include "tests/fuzz/cm_conversation.h"

namespace urxe::fuzz {
namespace {

Gid end_gid(uint8_t host) {
  const uint8_t address[4] = {192, 0, 2, host};
  return Gid::from_ipv4(address);
}

}  // namespace

void CmConversation::call_verb(Input& input) {
  const uint8_t choice = input.byte();
  Flow flow;
  flow.source = end_gid(1);
  flow.destination = end_gid(2);
  if (choice < 32) {
    CmReq req;
    req.local_qpn = Qpn{choice % 4U};
    req.remote_cm_response_timeout = 16;
    req.max_cm_retries = choice & 3;
    if ((choice & 16) != 0) req.transport = CmTransport::kExtended;
    const auto id = cm_.connect(req, flow, choice & 15, now_);
    if (!id) return;
    live_.insert(*id);
    ours_.push_back(*id);
  } else if (choice < 48) {
    const auto id = cm_.resolve_service({}, flow, milliseconds(choice), choice & 3, now_);
    if (!id) return;
    live_.insert(*id);
    ours_.push_back(*id);
  } else if (choice < 56) {
    const auto listener = cm_.listen(ServiceId{choice & 1U}, ~uint64_t{0}, std::nullopt);
    if (listener) listeners_.push_back(*listener);
  } else if (choice < 60) {
    if (listeners_.empty()) return;
    cm_.stop_listening(listeners_.back());
    listeners_.pop_back();
  } else if (choice < 70) {
    cm_.first_request_received(Qpn{choice % 4U}, now_);
  } else {
    call_verb_on(pick_ours(input), input);
  }
}

void CmConversation::call_verb_on(CommId id, Input& input) {
  const uint8_t verb = input.byte();
  const std::vector<uint8_t> data = input.bytes(verb >> 6);
  switch (verb % 16) {
    case 0:
    case 1: {
      CmRep rep;
      rep.local_qpn = Qpn{verb % 4U};
      (void)cm_.accept(id, rep, now_);
      break;
    }
    case 2:
    case 3:
      (void)cm_.confirm(id, data, now_);
      break;
    case 4:
      (void)cm_.reject(id, CmRejectReason::kConsumer, data, data, now_);
      break;
    case 5:
      (void)cm_.delay(id, verb, data, now_);
      break;
    case 6:
    case 7:
      (void)cm_.disconnect(id, data, now_);
      break;
    case 8:
      (void)cm_.answer_disconnect(id, data, now_);
      break;
    case 9:
      (void)cm_.communication_established(id, now_);
      break;
    case 10:
      (void)cm_.load_alternate_path(id, {}, now_);
      break;
    case 11:
      (void)cm_.answer_alternate_path(id, {}, now_);
      break;
    case 12:
      (void)cm_.answer_service(id, {}, now_);
      break;
    default:
      cm_.destroy(id, now_);
      live_.erase(id);
  }
}

}  // namespace urxe::fuzz
