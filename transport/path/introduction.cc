// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/introduction.h"

#include <algorithm>

#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {
namespace {

bool append_introduction(ChannelAdapter& ca, TxBatch& batch, const Flow& flow,
                         const Headers& headers) {
  if (batch.append(flow, headers, 0) == nullptr) return false;
  batch.commit();
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += packet_size(headers.bth.opcode, 0);
  return true;
}

}  // namespace

void Introductions::receive_query(ChannelAdapter& ca, const Headers& headers, const Flow& flow) {
  const bool is_own = std::ranges::find(ca.config.gids, flow.destination) != ca.config.gids.end();
  if (headers.bth.dest_qp != kSmiQpn || !is_own) return ca.counters.drop(DropReason::kUnknownQp);
  if (!ca.config.keeps_requests || due_ == kMostAnswers) return;
  Answer& answer = answers_[due_++];
  answer = {};
  answer.flow.source = flow.destination;
  answer.flow.destination = flow.source;
  answer.flow.source_port = kRoceUdpPort;
  answer.headers.bth.opcode = kPeerAnswerOpcode;
  answer.headers.bth.dest_qp = headers.deth.source_qp;
}

bool Introductions::transmit_answers(ChannelAdapter& ca, TxBatch& batch) {
  for (; due_ > 0; --due_) {
    const Answer& answer = answers_[due_ - 1];
    if (!append_introduction(ca, batch, answer.flow, answer.headers)) return false;
  }
  return true;
}

bool send_peer_query(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch) {
  Headers query;
  query.bth.opcode = kPeerQueryOpcode;
  query.bth.dest_qp = kSmiQpn;
  query.bth.pkey = qp.pkey;
  query.deth.source_qp = qp.qpn;
  if (!append_introduction(ca, batch, qp.flow(), query)) return false;
  qp.counters.count_sent(packet_size(kPeerQueryOpcode, 0));
  return true;
}

void receive_peer_answer(ChannelAdapter& ca, QueuePair* qp, const Flow& flow) {
  if (qp == nullptr) return ca.counters.drop(DropReason::kUnknownQp);
  const bool is_from_peer = qp->path != nullptr && qp->path->was_asked() &&
                            flow.source == qp->flow().destination &&
                            flow.source_port == kRoceUdpPort;
  if (!is_from_peer) return ca.counters.drop(DropReason::kWrongPeer);
  qp->path->set_urxe();
}

}  // namespace urxe
