// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/cm_conversation.h"

#include <cstdlib>
#include <numeric>

namespace urxe::fuzz {
namespace {

constexpr size_t kMaxIds = 12;
constexpr size_t kRemembered = 32;
constexpr uint64_t kOurGuid = 0x11;
constexpr uint64_t kPeerGuid = 0x22;

void require(bool condition) {
  if (!condition) std::abort();
}

CmConfig config() {
  CmConfig config;
  config.ca_guid = kOurGuid;
  config.id_prefix = 3;
  config.max_ids = kMaxIds;
  config.probe_interval = seconds(30);
  return config;
}

Gid gid(uint8_t host) {
  const uint8_t address[4] = {192, 0, 2, host};
  return Gid::from_ipv4(address);
}

template <size_t N>
uint64_t sum(const std::array<uint64_t, N>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

template <class T>
void remember(std::vector<T>& list, const T& value) {
  if (list.size() == kRemembered) list.erase(list.begin());
  list.push_back(value);
}

Qpn pick_qpn(Input& input) {
  const uint8_t choice = input.byte();
  return choice == 0xff ? Qpn{kMulticastQpn} : Qpn{choice % 4U};
}

}  // namespace

CmConversation::CmConversation() : cm_(config()) {
  const auto listener = cm_.listen(ServiceId{1}, ~uint64_t{0}, std::nullopt);
  require(listener.has_value());
  listeners_.push_back(*listener);
  peers_ = {CommId{0x700001}, CommId{0x700002}, CommId{0x700003}};
}

CommId CmConversation::pick_ours(Input& input) {
  const uint8_t choice = input.byte();
  return ours_.empty() ? CommId{choice} : ours_[ours_.size() - 1 - choice % ours_.size()];
}

CommId CmConversation::pick_peers(Input& input) {
  return peers_[input.byte() % peers_.size()];
}

Flow CmConversation::pick_flow(Input& input) {
  const uint8_t choice = input.byte();
  Flow flow;
  flow.source = gid(choice % 16 == 15 ? 9 : 2);
  flow.destination = gid(choice / 16 == 15 ? 8 : 1);
  return flow;
}

void CmConversation::step(Input& input) {
  switch (input.byte() % 8) {
    case 0:
      pass_time(input);
      break;
    case 1:
    case 2:
      call_verb(input);
      break;
    case 3:
      receive_reflected(input);
      break;
    case 4:
      receive_bytes(input);
      break;
    default:
      receive_message(input);
  }
  drain();
}

void CmConversation::pass_time(Input& input) {
  const uint8_t how = input.byte();
  const auto deadline = cm_.next_deadline();
  if (how < 128 && deadline) {
    now_ = std::max(now_, *deadline);
  } else {
    now_ = now_ + milliseconds(int64_t{how} * how);
  }
  cm_.advance(now_);
  require(!cm_.next_deadline() || *cm_.next_deadline() > now_);
}

void CmConversation::deliver(std::span<const uint8_t> mad, const Flow& flow) {
  ++delivered_;
  cm_.receive(mad, flow, now_);
}

void CmConversation::receive_message(Input& input) {
  const Flow flow = pick_flow(input);
  uint64_t transaction = input.byte();
  if (transaction < 128 && !transactions_.empty()) {
    transaction = transactions_[transaction % transactions_.size()];
  }
  const CmBody body = pick_body(input);
  deliver(emit_cm_message({transaction, body}), flow);
}

/// What we have sent comes back to us, changed in places.
void CmConversation::receive_reflected(Input& input) {
  if (sent_.empty()) return;
  const Flow flow = pick_flow(input);
  MadBytes mad = sent_[input.byte() % sent_.size()];
  for (unsigned changes = input.byte() % 4; changes > 0; --changes) {
    const uint8_t at = input.byte();
    mad[at] = input.byte();
  }
  deliver(mad, flow);
}

void CmConversation::receive_bytes(Input& input) {
  const Flow flow = pick_flow(input);
  const size_t size = input.byte() < 240 ? kMadBytes : input.byte();
  std::vector<uint8_t> bytes = input.bytes(input.byte());
  bytes.resize(size);
  if (bytes.size() > 17) {  // or most would end at the header
    bytes[0] = kMadBaseVersion;
    bytes[1] = kCmClass;
    bytes[2] = kCmClassVersion;
    bytes[3] = kMadMethodSend;
    bytes[16] = 0;
  }
  deliver(bytes, flow);
}

CmBody CmConversation::pick_body(Input& input) {
  const uint8_t kind = input.byte();
  const CommId ours = pick_ours(input);
  const CommId theirs = pick_peers(input);
  const uint8_t value = input.byte();
  switch (kind % kCmAttributes) {
    case 0: {
      CmReq req;
      req.local_comm_id = theirs;
      req.local_ca_guid = kPeerGuid + (value >> 7);
      req.service_id = ServiceId{value % 3U};
      req.local_qpn = pick_qpn(input);
      req.max_cm_retries = value & 3;
      req.local_cm_response_timeout = input.byte() & 0x1f;
      req.primary.ack_timeout = input.byte() & 0x1f;
      if ((value & 0x40) != 0) req.transport = CmTransport::kExtended;
      return req;
    }
    case 1:
      return CmMra{theirs, ours, static_cast<CmAnswered>(value % 3), input.byte(), {}};
    case 2: {
      CmRej rej;
      rej.local_comm_id = (value & 0x80) != 0 ? CommId{} : theirs;
      rej.remote_comm_id = (value & 0x40) != 0 ? CommId{} : ours;
      rej.rejected = static_cast<CmAnswered>(value % 3);
      rej.reason = static_cast<CmRejectReason>(1 + input.byte() % 33);
      const uint8_t info[8] = {0, 0, 0, 0, 0, 0, 0, kPeerGuid};
      rej.additional_info.assign(info);
      return rej;
    }
    case 3: {
      CmRep rep;
      rep.local_comm_id = theirs;
      rep.remote_comm_id = ours;
      rep.local_ca_guid = kPeerGuid + (value >> 7);
      rep.local_qpn = rep.local_eecn = pick_qpn(input);
      rep.target_ack_delay = value & 0x1f;
      return rep;
    }
    case 4:
      return CmRtu{theirs, ours, {}};
    case 5:
      return CmDreq{theirs, ours, pick_qpn(input), {}};
    case 6:
      return CmDrep{theirs, ours, {}};
    case 7: {
      CmSidrReq req;
      req.request_id = theirs;
      req.service_id = ServiceId{value % 3U};
      return req;
    }
    case 8: {
      CmSidrRep rep;
      rep.request_id = ours;
      return rep;
    }
    case 9: {
      CmLap lap;
      lap.local_comm_id = theirs;
      lap.remote_comm_id = ours;
      lap.remote_qpn = pick_qpn(input);
      return lap;
    }
    default: {
      CmApr apr;
      apr.local_comm_id = theirs;
      apr.remote_comm_id = ours;
      return apr;
    }
  }
}

void CmConversation::drain() {
  while (const auto event = cm_.take_event()) {
    const bool is_new =
        event->kind == CmEvent::Kind::kRequest || event->kind == CmEvent::Kind::kServiceRequest;
    if (is_new) {
      require(live_.insert(event->id).second);
      remember(ours_, event->id);
    }
    require(live_.contains(event->id));
    require(cm_.state(event->id).has_value());
  }
  require(!cm_.has_event());
  while (const OutgoingMad* out = cm_.take_outgoing()) {
    ++taken_;
    const auto message = parse_cm_message(out->mad);
    require(message.has_value());
    remember(sent_, out->mad);
    remember(transactions_, message->transaction_id);
  }
  const CmCounters& counters = cm_.counters();
  require(sum(counters.received) + sum(counters.duplicates) + sum(counters.drops) == delivered_);
  require(sum(counters.sent) + sum(counters.retries) == taken_);
  require(cm_.size() <= kMaxIds && live_.size() <= cm_.size());
}

void CmConversation::finish() {
  for (const CommId id : live_) {
    cm_.destroy(id, now_);
    require(!cm_.state(id));
  }
  live_.clear();
  drain();
  for (int steps = 0; cm_.next_deadline(); ++steps) {
    require(steps < 10000);
    now_ = std::max(now_, *cm_.next_deadline());
    cm_.advance(now_);
    drain();
  }
  require(cm_.size() == 0);
}

}  // namespace urxe::fuzz
