// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/cm/cm_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/drill/cm/message_fields.h"
#include "tools/drill/cm/words.h"
#include "tools/drill/qp_attributes.h"

namespace urxe::drill {
namespace {

constexpr uint8_t kOurAddress[4] = {192, 0, 2, 1};
constexpr uint8_t kAddressOfPeer[4] = {192, 0, 2, 2};
constexpr uint64_t kEveryBit = ~uint64_t{0};

CmConfig cm_config() {
  CmConfig config;
  config.ca_guid = 0x0200'00ff'fe00'0001ULL;
  config.id_prefix = 5;
  return config;
}

Flow flow_of_messages(bool to_peer) {
  Flow flow;
  flow.source = Gid::from_ipv4(to_peer ? kOurAddress : kAddressOfPeer);
  flow.destination = Gid::from_ipv4(to_peer ? kAddressOfPeer : kOurAddress);
  return flow;
}

}  // namespace

CmStage::CmStage() : cm_(cm_config()) {}

uint64_t CmStage::value_of_id(const Word& word) const {
  return word.text == "ours" ? current_.value() : word.number;
}

Outcome CmStage::act(const Statement& statement) {
  if (statement.verb == Verb::kMessageIn) message_in(statement);
  if (statement.verb != Verb::kCall) return {};
  if (call(statement)) return {};
  return {Outcome::Kind::kRefused, "refused"};
}

Expected<void, Errno> CmStage::call(const Statement& statement) {
  const auto ignore_value = [](const auto&) {};
  switch (static_cast<Call>(statement.subject_id)) {
    case Call::kListen:
      return cm_
          .listen(ServiceId(statement.number("service", kScriptService.value())), kEveryBit,
                  std::nullopt)
          .map(ignore_value);
    case Call::kConnect:
      return cm_.connect(request_of(statement), flow_of_messages(true), kScriptLifetime, now_)
          .map([this](CommId id) { current_ = id; });
    case Call::kAccept: {
      CmRep reply;
      reply.local_qpn = Qpn{static_cast<uint32_t>(statement.number("qpn", kScriptQpn))};
      reply.starting_psn = Psn(static_cast<uint32_t>(statement.number("psn")));
      return cm_.accept(current_, reply, now_);
    }
    case Call::kConfirm:
      return cm_.confirm(current_, {}, now_);
    case Call::kReject: {
      const auto consumer = static_cast<uint64_t>(CmRejectReason::kConsumer);
      const auto reason = static_cast<CmRejectReason>(statement.number("reason", consumer));
      return cm_.reject(current_, reason, {}, {}, now_);
    }
    case Call::kDelay:
      return cm_.delay(current_, static_cast<uint8_t>(statement.number("timeout", 20)), {}, now_);
    case Call::kDisconnect:
      return cm_.disconnect(current_, {}, now_);
    case Call::kAnswerDisconnect:
      return cm_.answer_disconnect(current_, {}, now_);
    default:
      cm_.destroy(current_, now_);
      return {};
  }
}

void CmStage::message_in(const Statement& statement) {
  CmMessage message = message_of(static_cast<CmAttribute>(statement.subject_id), current_);
  answer_request(message, requested_);
  for (const Word& word : statement.words) set_field(message, word.key, value_of_id(word));
  cm_.receive(emit_cm_message(message), flow_of_messages(false), now_);
}

void CmStage::settle() {
  cm_.advance(now_);
  while (const OutgoingMad* out = cm_.take_outgoing()) {
    if (const auto message = parse_cm_message(out->mad)) note_request(*message, requested_);
    sent.push_back({now_, {out->mad.begin(), out->mad.end()}, out->flow, std::nullopt, false});
  }
  while (const auto event = cm_.take_event()) {
    if (event->kind == CmEvent::Kind::kRequest) current_ = event->id;
    events.push_back(static_cast<uint64_t>(event->kind));
  }
}

void CmStage::pass_until(Instant end, bool until_sent) {
  settle();
  while (!until_sent || sent.empty()) {
    const auto deadline = cm_.next_deadline();
    if (!deadline || *deadline > end) break;
    now_ = std::max(now_, *deadline);
    settle();
  }
  if (until_sent && !sent.empty()) return;
  now_ = std::max(now_, end);
  settle();
}

void CmStage::await(const std::function<bool()>& holds) {
  settle();
  holds();
}

Window CmStage::window(const std::optional<When>& when, Instant base) {
  if (!when) return {base, base};
  return {base + when->earliest, base + when->latest};
}

Comparison CmStage::compare(const Statement& statement, const SentPacket& packet) {
  return compare_message(statement, packet.bytes,
                         [this](const Word& word, uint64_t) { return value_of_id(word); });
}

std::string CmStage::show(const SentPacket& packet) const {
  return show_message(packet.bytes);
}

std::string CmStage::event_name(uint64_t event) const {
  return std::string(cm_event_name(event));
}

}  // namespace urxe::drill
