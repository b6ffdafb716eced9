// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/wire_stage.h"

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "tools/drill/qp_attributes.h"

namespace urxe::drill {
namespace {

uint32_t destination_of(const std::vector<uint8_t>& packet) {
  return load_be32(packet.data() + 4) & 0xffffffU;
}

}  // namespace

WireStage::WireStage(const Script& script, AgentClient& agent, WireSocket& socket,
                     uint32_t peer_qpn, Duration patience)
    : RealStage(agent, socket, patience), script_(script), peer_qpn_(peer_qpn) {
  agent_.begin(script, peer_qpn, socket.flow().source);
}

Names WireStage::names() const {
  const auto key_of = [this](const Word& word) {
    const auto found = keys_.find(word.text);
    return found == keys_.end() ? static_cast<uint32_t>(word.number) : found->second;
  };
  return {key_of, qpn_, peer_qpn_};
}

Outcome WireStage::act(const Statement& statement) {
  if (statement.verb == Verb::kIn) return packet_in(statement);
  const auto done = agent_.do_statement(index_in(script_, statement));
  if (statement.verb == Verb::kQp) {
    qpn_ = done.value;
    qkey_ = attributes(statement, {}, 0).qkey;
  }
  if (statement.verb == Verb::kRegion) keys_[statement.subject] = done.value;
  return done.outcome;
}

Outcome WireStage::packet_in(const Statement& statement) {
  Headers defaults;
  defaults.bth.dest_qp = Qpn{qpn_};
  defaults.aeth.syndrome = 0x1f;  // no credits
  defaults.deth = {QKey(qkey_), Qpn{peer_qpn_}};
  const auto bytes = build_packet(statement, socket_.flow(), defaults, names());
  return send_packet(socket_, bytes);
}

bool WireStage::is_repeat(const SentPacket& packet) {
  std::string bytes(packet.bytes.begin(), packet.bytes.end());
  if (bytes.size() < kBthBytes + kIcrcBytes || !opcode_info(Opcode(packet.bytes[0])).is_request) {
    return false;
  }
  // AckReq may be another one; the ICRC covers the identification, which counts.
  bytes[8] = static_cast<char>(bytes[8] & 0x7f);
  bytes.resize(bytes.size() - kIcrcBytes);
  return !requests_.insert(std::move(bytes)).second;
}

void WireStage::take_packets() {
  while (auto packet = socket_.receive()) {
    const bool is_ours =
        packet->bytes.size() >= kBthBytes && destination_of(packet->bytes) == peer_qpn_;
    if (!is_ours || sent.size() >= kMostPackets) continue;
    packet->is_repeat = is_repeat(*packet);
    sent.push_back(std::move(*packet));
  }
}

}  // namespace urxe::drill
