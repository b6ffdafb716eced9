// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/backpressure.h"

#include <algorithm>
#include <array>

#include "packet/base/bytes.h"
#include "packet/base/siphash.h"
#include "packet/wire/qpn_layout.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {
namespace {

// The room that a packet takes in a receive buffer, as the kernel counts: for a single datagram up
// to twice its size plus some hundred bytes; less in a segmented one.
constexpr uint32_t kUnitBytes = 256;
uint32_t units_of(const QueuePair& qp, size_t bytes) {
  const size_t counted = qp.service == Service::kUd ? 2 * bytes : bytes + bytes / 4;
  return static_cast<uint32_t>((counted + 768) / kUnitBytes);
}

/// A larger amount in flight only causes cache misses.
constexpr size_t kMostBytesInFlight = 1024 * 1024;

/// A query or its answer may be lost, if the buffer was full of other packets.
constexpr Duration kAskAgain = milliseconds(10);
constexpr uint32_t kMostUnanswered = 30;

bool is_own(const ChannelAdapter& ca, const Gid& gid) {
  return std::ranges::find(ca.config.gids, gid) != ca.config.gids.end();
}

bool append(ChannelAdapter& ca, TxBatch& batch, const Flow& flow, const Headers& headers) {
  if (batch.append(flow, headers, 0) == nullptr) return false;
  batch.commit();
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += packet_size(headers.bth.opcode, 0);
  return true;
}

/// A number that only this process knows, and whoever it asks: the answer repeats it.
QKey proof_of(const ChannelAdapter& ca, size_t process, Psn mark) {
  std::array<uint8_t, 16> message = {'d', 'r', 'a', 'i', 'n'};
  store_be32(message.data() + 8, static_cast<uint32_t>(process));
  store_be32(message.data() + 12, mark.value());
  return QKey(static_cast<uint32_t>(siphash(ca.config.key_secret, message)));
}

bool ask(ChannelAdapter& ca, TxBatch& batch, const Flow& flow, Qpn from, Qpn to, uint32_t mark) {
  Headers query;
  query.bth.opcode = kDrainQueryOpcode;
  query.bth.dest_qp = to;
  query.bth.psn = Psn(mark);
  query.deth = {proof_of(ca, slot_of(to), query.bth.psn), from};
  Flow from_receiver = flow;
  from_receiver.source_port = kRoceUdpPort;
  return append(ca, batch, from_receiver, query);
}

template <class Peer>
void note_address(Peer& peer, const Gid& address) {
  if (std::ranges::find(peer.asked_at, address) != peer.asked_at.end()) return;
  peer.asked_at = {address, peer.asked_at[0]};
}

}  // namespace

void Backpressure::set_receive_buffer(size_t bytes) {
  // Half is left for other senders and other traffic.
  most_in_flight_ = static_cast<uint32_t>(std::min(bytes / 2, kMostBytesInFlight) / kUnitBytes);
}

void Backpressure::enable() {
  if (!peers_) peers_ = std::make_unique<std::array<Peer, kProcesses>>();
}

Backpressure::Peer* Backpressure::find(const ChannelAdapter& ca, const Flow& flow, Qpn qpn) const {
  const size_t process = slot_of(qpn);
  if (!peers_ || process >= kProcesses || !is_own(ca, flow.destination)) return nullptr;
  return &(*peers_)[process];
}

Backpressure::Admission Backpressure::admit(ChannelAdapter& ca, QueuePair& qp, const Flow& flow,
                                            Qpn to, TxBatch& batch, Instant now) {
  Peer* const peer = find(ca, flow, to);
  if (peer == nullptr || !peer->answers || peer->sent - peer->confirmed < most_in_flight_) {
    return Admission::kSend;
  }
  if (peer->waiting.empty()) {
    peer->unanswered = 0;
    peer->ask_again = peer->asked == peer->sent ? now + kAskAgain : now;
  }
  if (now >= peer->ask_again) {
    if (peer->unanswered == kMostUnanswered) {
      peer->answers = false;
      wake(ca, *peer);
      return Admission::kSend;
    }
    if (!ask(ca, batch, flow, qp.qpn, to, peer->sent)) return Admission::kBatchFull;
    note_address(*peer, flow.destination);
    ++peer->unanswered;
    peer->asked = peer->sent;
    peer->ask_again = now + kAskAgain;
  }
  peer->waiting.push_back(qp);
  ca.timers.schedule(qp, peer->ask_again);
  return Admission::kWait;
}

void Backpressure::note_sent(ChannelAdapter& ca, const QueuePair& qp, const Flow& flow, Qpn to,
                             size_t bytes, TxBatch& batch) {
  Peer* const peer = find(ca, flow, to);
  if (peer == nullptr) return;
  peer->sent += units_of(qp, bytes);
  if (peer->sent - peer->asked < most_in_flight_ / 2) return;
  if (!ask(ca, batch, flow, qp.qpn, to, peer->sent)) return;
  note_address(*peer, flow.destination);
  peer->asked = peer->sent;
}

void Backpressure::wake(ChannelAdapter& ca, Peer& peer) const {
  while (QueuePair* qp = peer.waiting.front()) {
    peer.waiting.remove(*qp);
    ca.timers.remove(*qp);
    ca.active.push_back(*qp);
  }
}

void Backpressure::receive(ChannelAdapter& ca, const Headers& headers, const Flow& flow) {
  if (!peers_ || !is_own(ca, flow.source) || flow.source_port != kRoceUdpPort) {
    return ca.counters.drop(DropReason::kWrongPeer);
  }
  if (headers.bth.opcode == kDrainQueryOpcode) return owe_answer(headers, flow);
  take_answer(ca, headers, flow);
}

void Backpressure::take_answer(ChannelAdapter& ca, const Headers& headers, const Flow& flow) {
  const size_t process = slot_of(headers.deth.source_qp);
  if (process >= kProcesses) return;
  Peer& peer = (*peers_)[process];
  const bool was_asked = std::ranges::find(peer.asked_at, flow.source) != peer.asked_at.end() &&
                         headers.deth.qkey == proof_of(ca, process, headers.bth.psn);
  if (!was_asked) {
    return ca.counters.drop(DropReason::kWrongPeer);
  }
  const uint32_t since = (peer.sent - headers.bth.psn.value()) & Psn::kMask;
  if (since > peer.sent - peer.confirmed) return;  // an old one
  peer.confirmed = peer.sent - since;
  peer.answers = true;
  wake(ca, peer);
}

void Backpressure::owe_answer(const Headers& query, const Flow& flow) {
  Answer answer;
  answer.flow.source = flow.destination;
  answer.flow.destination = flow.source;
  answer.flow.source_port = kRoceUdpPort;
  answer.headers.bth.opcode = kDrainAnswerOpcode;
  answer.headers.bth.dest_qp = query.deth.source_qp;
  answer.headers.bth.psn = query.bth.psn;
  answer.headers.deth = {query.deth.qkey, query.bth.dest_qp};
  // The latest query answers those before it.
  for (size_t i = 0; i < answers_due_; ++i) {
    if (answers_[i].headers.bth.dest_qp != answer.headers.bth.dest_qp) continue;
    if (answers_[i].headers.deth.source_qp != answer.headers.deth.source_qp) continue;
    answers_[i] = answer;
    return;
  }
  if (answers_due_ < kMaxAnswers) answers_[answers_due_++] = answer;  // else it asks again
}

bool Backpressure::transmit_answers(ChannelAdapter& ca, TxBatch& batch) {
  while (answers_due_ > 0) {
    const Answer& answer = answers_[answers_due_ - 1];
    if (!append(ca, batch, answer.flow, answer.headers)) return false;
    --answers_due_;
  }
  return true;
}

}  // namespace urxe
