// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/bench.h"

namespace urxe::test {

Gid gid_of(uint8_t host) {
  const uint8_t address[4] = {192, 0, 2, host};
  return Gid::from_ipv4(address);
}

Flow flow_between(const Gid& source, const Gid& destination) {
  Flow flow;
  flow.source = source;
  flow.destination = destination;
  return flow;
}

Duration iba_time(uint8_t exponent) {
  return nanoseconds(int64_t{4096} << exponent);
}
Duration response_timeout() {
  return iba_time(kResponse) + iba_time(kLifetime) * 2;
}

CmReq request_template() {
  CmReq req;
  req.service_id = kService;
  req.local_qpn = kOurQpn;
  req.remote_cm_response_timeout = kResponse;
  req.local_cm_response_timeout = kResponse;
  req.max_cm_retries = kRetries;
  req.primary.ack_timeout = kAckTimeout;
  req.primary.local = gid_of(1);
  req.primary.remote = gid_of(2);
  req.path_mtu = 3;
  return req;
}

CmReq peer_request() {
  CmReq req = request_template();
  req.local_comm_id = kPeerId;
  req.local_ca_guid = kPeerGuid;
  req.local_qpn = kPeerQpn;
  req.primary.local = gid_of(2);
  req.primary.remote = gid_of(1);
  return req;
}

CmRep peer_reply(CommId ours) {
  CmRep rep;
  rep.local_comm_id = kPeerId;
  rep.remote_comm_id = ours;
  rep.local_qpn = kPeerQpn;
  rep.local_ca_guid = kPeerGuid;
  rep.target_ack_delay = 15;
  return rep;
}

CmConfig Bench::default_config() {
  CmConfig config;
  config.ca_guid = kOurGuid;
  config.id_prefix = 5;
  return config;
}

void Bench::receive(const CmBody& body, std::optional<uint64_t> transaction) {
  receive_from(peer, body, transaction);
}

void Bench::receive_from(const Gid& source, const CmBody& body,
                         std::optional<uint64_t> transaction) {
  const bool is_answer =
      std::holds_alternative<CmRep>(body) || std::holds_alternative<CmMra>(body) ||
      std::holds_alternative<CmRej>(body) || std::holds_alternative<CmSidrRep>(body);
  const uint64_t id = transaction.value_or(is_answer ? transaction_id : kPeerTransaction);
  cm.receive(emit_cm_message({id, body}), flow_between(source, ours), now);
}

void Bench::advance(Duration time) {
  now = now + time;
  cm.advance(now);
}

bool Bench::advance_to_deadline() {
  const auto deadline = cm.next_deadline();
  if (!deadline) return false;
  now = std::max(now, *deadline);
  cm.advance(now);
  return true;
}

std::optional<CmMessage> Bench::sent() {
  const OutgoingMad* out = cm.take_outgoing();
  if (out == nullptr) return std::nullopt;
  last_flow = out->flow;
  EXPECT_EQ(out->flow.source, ours);
  const auto message = parse_cm_message(out->mad);
  EXPECT_TRUE(message) << "what was sent cannot be parsed";
  if (!message) return std::nullopt;
  return *message;
}

void Bench::expect_nothing_sent() {
  const auto message = sent();
  EXPECT_FALSE(message) << "sent attribute " << static_cast<int>(attribute_of(message->body));
}

CmEvent Bench::expect_event(CmEvent::Kind kind) {
  const auto event = cm.take_event();
  EXPECT_TRUE(event) << "no event";
  if (!event) return {};
  EXPECT_EQ(static_cast<int>(event->kind), static_cast<int>(kind));
  return *event;
}

void Bench::expect_no_event() {
  const auto event = cm.take_event();
  EXPECT_FALSE(event) << "event " << static_cast<int>(event->kind);
}

void Bench::expect_quiet() {
  expect_nothing_sent();
  expect_no_event();
}

uint64_t Bench::count_of(MadDropReason reason) const {
  return cm.counters().drops[static_cast<size_t>(reason)];
}
uint64_t Bench::received(CmAttribute attribute) const {
  return cm.counters().received[index_of(attribute)];
}
uint64_t Bench::duplicates(CmAttribute attribute) const {
  return cm.counters().duplicates[index_of(attribute)];
}
uint64_t Bench::retries(CmAttribute attribute) const {
  return cm.counters().retries[index_of(attribute)];
}

CommId Bench::connect() {
  const auto id = cm.connect(request_template(), flow_between(ours, peer), kLifetime, now);
  EXPECT_TRUE(id);
  expect_sent<CmReq>();
  return *id;
}

CommId Bench::connect_and_reply() {
  const CommId id = connect();
  receive(peer_reply(id), transaction_id);
  expect_event(CmEvent::Kind::kReply);
  return id;
}

CommId Bench::connect_established() {
  const CommId id = connect_and_reply();
  EXPECT_TRUE(cm.confirm(id, {}, now));
  expect_sent<CmRtu>();
  return id;
}

ListenerId Bench::listen() {
  const auto id = cm.listen(kService, kAllBits, std::nullopt);
  EXPECT_TRUE(id);
  listener_ = *id;
  return *id;
}

CommId Bench::be_asked() {
  if (!listener_) listen();
  receive(peer_request());
  return expect_event(CmEvent::Kind::kRequest).id;
}

CommId Bench::accept() {
  const CommId id = be_asked();
  CmRep rep;
  rep.local_qpn = kOurQpn;
  EXPECT_TRUE(cm.accept(id, rep, now));
  expect_sent<CmRep>();
  return id;
}

CommId Bench::accept_established() {
  const CommId id = accept();
  receive(CmRtu{kPeerId, id, {}});
  expect_event(CmEvent::Kind::kEstablished);
  return id;
}

}  // namespace urxe::test
