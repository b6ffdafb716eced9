// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/wire_cm_stage.h"

#include <algorithm>
#include <utility>

#include "packet/wire/icrc.h"
#include "tools/drill/cm/message_fields.h"
#include "tools/drill/cm/words.h"
#include "tools/drill/qp_attributes.h"
#include "transport/cm/connection_manager.h"

namespace urxe::drill {
namespace {

using EventKind = CmEvent::Kind;

constexpr uint16_t kScriptPort = 0x8000;
/// The peer's communication ids in scripts begin here.
constexpr uint32_t kFirstPeerId = 0x7000'0000;
constexpr uint32_t kIdsOfScript = 0x100;
constexpr uint8_t kRate10G = 3;
constexpr uint8_t kMostRetries = 7;

/// A Kind that stands for those that librdmacm does not tell apart.
uint64_t common_event(uint64_t event) {
  switch (static_cast<EventKind>(event)) {
    case EventKind::kDisconnectRequest:
    case EventKind::kDisconnectTimeout:
      return static_cast<uint64_t>(EventKind::kDisconnected);
    case EventKind::kReplyTimeout:
      return static_cast<uint64_t>(EventKind::kRequestTimeout);
    default:
      return event;
  }
}

bool is_answer(const Statement& statement) {
  return statement.verb == Verb::kCall &&
         statement.subject_id == static_cast<uint64_t>(Call::kAnswerDisconnect);
}

/// A datagram from QP1 to QP1 (3.5.3, 13.4).
std::vector<uint8_t> gsi_packet(const Flow& flow, Psn psn, const MadBytes& mad) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = kGsiQpn;
  headers.bth.psn = psn;
  headers.deth = {kGsiQKey, kGsiQpn};
  std::vector<uint8_t> packet(64);
  packet.resize(write_headers(packet.data(), headers, mad.size()));
  packet.insert(packet.end(), mad.begin(), mad.end());
  packet.resize(packet.size() + kIcrcBytes);
  write_icrc(flow, 0, packet);
  return packet;
}

}  // namespace

WireCmStage::WireCmStage(const Script& script, AgentClient& agent, WireSocket& socket,
                         uint32_t salt, Duration patience)
    : RealStage(agent, socket, patience), script_(script), salt_(salt & ~(kIdsOfScript - 1)) {
  answers_expected_ = static_cast<size_t>(
      std::count_if(script.statements.begin(), script.statements.end(), is_answer));
  agent_.begin(script, kScriptPeerQpn, socket.flow().source);
}

uint64_t WireCmStage::value_of(const Word& word) const {
  if (word.text == "ours") return ours_.value();
  const bool is_id = word.key == "local" || word.key == "remote";
  if (is_id && word.number >= kFirstPeerId) return static_cast<uint32_t>(word.number + salt_);
  return word.key == "transaction" ? word.number + (uint64_t{salt_} << 32U) : word.number;
}

Outcome WireCmStage::act(const Statement& statement) {
  if (statement.verb == Verb::kMessageIn) return message_in(statement);
  Outcome outcome = agent_.do_statement(index_in(script_, statement)).outcome;
  if (is_answer(statement)) {
    --answers_expected_;
    for (SentPacket& answer : answers_) sent.push_back(std::move(answer));
    answers_.clear();
  }
  return outcome;
}

Outcome WireCmStage::message_in(const Statement& statement) {
  CmMessage message = message_of(static_cast<CmAttribute>(statement.subject_id), ours_);
  set_field(message, "local", kScriptPeerId.value() + salt_);
  message.transaction_id += uint64_t{salt_} << 32U;
  answer_request(message, requested_);
  if (auto* request = std::get_if<CmReq>(&message.body)) complete(*request);
  if (auto* reply = std::get_if<CmRep>(&message.body)) reply->local_ca_guid += salt_;
  for (const Word& word : statement.words) set_field(message, word.key, value_of(word));
  const auto packet = gsi_packet(socket_.flow(), next_psn_, emit_cm_message(message));
  next_psn_ = next_psn_ + 1;
  return send_packet(socket_, packet);
}

void WireCmStage::complete(CmReq& request) const {
  request.local_ca_guid += salt_;
  request.responder_resources = request.initiator_depth = 1;
  request.retry_count = request.rnr_retry_count = kMostRetries;
  request.primary.local = socket_.flow().source;
  request.primary.remote = socket_.flow().destination;
  request.primary.packet_rate = kRate10G;
  IpCmHeader addresses;
  addresses.ip_version = socket_.flow().source.is_ipv4() ? 4 : 6;
  addresses.source_port = kScriptPort;
  addresses.source = socket_.flow().source;
  addresses.destination = socket_.flow().destination;
  request.private_data.assign(emit_ip_cm_header(addresses));
}

void WireCmStage::take_packets() {
  while (auto packet = socket_.receive()) {
    const auto view = parse({packet->bytes, packet->flow, packet->identification});
    const bool is_mad = view && view->headers.bth.dest_qp == kGsiQpn &&
                        view->headers.bth.opcode.service() == Service::kUd &&
                        view->headers.deth.qkey == kGsiQKey && view->payload.size() == kMadBytes;
    if (!is_mad || sent.size() >= kMostPackets) continue;
    packet->bytes.assign(view->payload.begin(), view->payload.end());
    take_message(std::move(*packet));
  }
}

void WireCmStage::take_message(SentPacket packet) {
  const auto message = parse_cm_message(packet.bytes);
  if (!message) return sent.push_back(std::move(packet));
  const auto remote = static_cast<uint32_t>(field_of(*message, "remote").value_or(0));
  const bool is_other = remote >= kFirstPeerId && remote - kFirstPeerId - salt_ >= kIdsOfScript;
  if (is_other) return;  // of a script before
  const bool is_first =
      std::holds_alternative<CmReq>(message->body) || std::holds_alternative<CmRep>(message->body);
  note_request(*message, requested_);
  if (is_first) ours_ = CommId(static_cast<uint32_t>(*field_of(*message, "local")));
  MadBytes mad;
  std::copy(packet.bytes.begin(), packet.bytes.end(), mad.begin());
  // A message may be repeated, and an MRA sent, when the device likes (12.6.6, 12.9.8.4).
  packet.is_repeat = !seen_.insert(mad).second || std::holds_alternative<CmMra>(message->body);
  // Below librdmacm a DREQ may be answered before its consumer does that.
  const bool is_early = answers_expected_ > 0 && std::holds_alternative<CmDrep>(message->body);
  (is_early ? answers_ : sent).push_back(std::move(packet));
}

uint64_t WireCmStage::meaning_of(const Word& word, uint64_t came, CmAttribute attribute) {
  const bool is_request = attribute == CmAttribute::kReq;
  const bool is_chosen = (word.key == "psn" && (is_request || attribute == CmAttribute::kRep)) ||
                         (is_request && (word.key == "retries" || word.key == "timeout"));
  return is_chosen ? chosen_.try_emplace(word.key, came).first->second : value_of(word);
}

Comparison WireCmStage::compare(const Statement& statement, const SentPacket& packet) {
  const auto message = parse_cm_message(packet.bytes);
  return compare_message(statement, packet.bytes, [&](const Word& word, uint64_t came) {
    return meaning_of(word, came, attribute_of(message->body));
  });
}

std::string WireCmStage::show(const SentPacket& packet) const {
  return show_message(packet.bytes);
}

std::string WireCmStage::event_name(uint64_t event) const {
  return std::string(cm_event_name(event));
}

bool WireCmStage::is_event(uint64_t came, uint64_t expected) const {
  return common_event(came) == common_event(expected);
}

}  // namespace urxe::drill
