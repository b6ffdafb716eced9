// SPDX-License-Identifier: BSD-2-Clause
// The answers of the responder of RC and XRC: ACKs, NAKs, READ and atomic responses.
#include <algorithm>

#include "packet/base/bytes.h"
#include "packet/base/fence.h"
#include "packet/wire/aeth_syndrome.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/responder.h"
#include "transport/responder/responder_resources.h"

namespace urxe {
namespace {

Headers response_headers(const QueuePair& qp, Operation operation, Psn psn, Msn msn) {
  Headers headers;
  headers.bth.opcode = Opcode(qp.service, operation);
  headers.bth.dest_qp = qp.dest_qpn;
  headers.bth.pkey = qp.pkey;
  headers.bth.psn = psn;
  headers.bth.mig_req = mig_req(qp);
  headers.aeth = {advertised_credits(qp), msn};
  return headers;
}

/// Remembers that the peer was told of no receive. It matters to a peer that has no RNR retries and
/// so waits for credits, which is not known here: each side may have another number of them.
void note_credits(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  constexpr uint8_t kNoReceive = 0;
  if (headers.aeth.syndrome != kNoReceive) return;
  if (qp.wants_receives.load(std::memory_order_relaxed)) return;  // whoever posts one rings
  qp.wants_receives.store(true, std::memory_order_seq_cst);
  full_fence();
  announce_receives(ca, qp);  // one may have been posted meanwhile
}

/// The MSN in a response: that of the request. The response to a duplicate repeats the last MSN
/// that was sent, since an MSN must not go back. The present MSN already counts READs that wait for
/// their responses behind this one, which carry lower ones.
Msn msn_of(const ResponderState& resp, const ResponderResource& resource) {
  return resource.answered ? resp.told_msn : resource.msn;
}

/// A READ or atomic response acknowledges what came before it.
void drop_implied_ack(ChannelAdapter& ca, QueuePair& qp, Psn response) {
  ResponderState& resp = qp.responder;
  if (!resp.ack || resp.ack->is_nak || !resp.ack->psn.is_before(response)) return;
  resp.ack.reset();
  resp.ack_urgent = resp.ack_holds_up = false;
  ca.deferred.remove(qp);
}

void count_sent(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, size_t payload) {
  const size_t bytes = packet_size(headers.bth.opcode, payload);
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += bytes;
  qp.counters.count_sent(bytes);
}

/// Counts a packet of an answer, and remembers the MSN that it carries.
void count_answer(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, size_t payload) {
  qp.responder.told_msn = headers.aeth.msn;
  count_sent(ca, qp, headers, payload);
}

Operation read_response_operation(const ResponderResource& resource) {
  const bool first = resource.next == resource.resumed_at;
  const bool last = resource.next + 1 == resource.until;
  if (first) return last ? Operation::kReadResponseOnly : Operation::kReadResponseFirst;
  return last ? Operation::kReadResponseLast : Operation::kReadResponseMiddle;
}

/// A READ counts when its last response goes out for the first time.
void note_read(const QueuePair& qp, const ResponderResource& resource) {
  if (resource.answered || resource.kind != ResponderResource::Kind::kRead) return;
  qp.completion_counters.note(Counted::kRemoteRead, true, resource.length);
}

/// Refuses a READ that the peer has asked for again, after a later request was refused. If the peer
/// has the first answer, it ignores this NAK as old. If not, the NAK of the later request alone
/// would make it ask once more, and this side, in ERR, does not answer.
bool refuse_duplicate(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch,
                      const ResponderResource& resource) {
  const Psn last = resource.first_psn + (resource.until - 1);
  Headers headers = response_headers(qp, Operation::kAcknowledge, last, qp.responder.told_msn);
  headers.aeth.syndrome = nak_syndrome(NakCode::kRemoteAccessError);
  if (batch.append(qp.flow(), headers, 0) == nullptr) return false;
  batch.commit();
  count_answer(ca, qp, headers, 0);
  ++ca.counters.acks_sent;
  ++ca.counters.other_naks_sent;
  ++ca.counters.naks_sent[static_cast<size_t>(NakCode::kRemoteAccessError)];
  return true;
}

/// The key became invalid, or the memory went away, between the request and this response. If the
/// READ was answered before, the request is a duplicate, perhaps one that the network has delayed.
/// The peer may have invalidated the key since it had the answer, and nothing is wrong.
Turn refuse_rest(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, ResponderResource& resource,
                 Psn psn) {
  const RemoteRange range{resource.rkey, resource.va, resource.length};
  const bool is_duplicate = resource.answered;
  const bool has_failed = qp.state() == IBV_QPS_ERR;
  if (is_duplicate && has_failed && !refuse_duplicate(ca, qp, batch, resource)) {
    return Turn::kBatchFull;
  }
  finish_pending(qp.responder, resource);
  if (is_duplicate) {
    ca.counters.drop(DropReason::kMalformedRequest);
    return Turn::kMore;
  }
  qp.responder.pending_resources = 0;
  Headers request;
  request.bth.opcode = Opcode(qp.service, Operation::kReadRequest);
  note_refused_access(ca, qp, request, range, IBV_ACCESS_REMOTE_READ);
  refuse(ca, qp, psn, NakCode::kRemoteAccessError, RequestFault::kAccess);
  return Turn::kMore;
}

/// Whether the memory may still be read when the batch is sent. A window's may not: it can be
/// revoked before.
bool stays_until_sent(const ChannelAdapter& ca, const ResponderResource& resource,
                      const HostMemory& host) {
  return host.kind == HostMemory::Kind::kPlain && ca.memory.find(resource.rkey.value()) != nullptr;
}

Turn send_read_response(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch,
                        ResponderResource& resource) {
  const uint64_t offset = static_cast<uint64_t>(resource.next) * qp.mtu;
  const auto bytes =
      static_cast<uint32_t>(std::min<uint64_t>(qp.mtu, resource.reply_length - offset));
  const Psn psn = resource.first_psn + resource.next;
  HostMemory host;
  if (bytes > 0) {
    host = ca.memory.remote(resource.pd, qp.qpn, resource.rkey, resource.va + offset, bytes,
                            IBV_ACCESS_REMOTE_READ);
    if (!host) return refuse_rest(ca, qp, batch, resource, psn);
  }
  const Headers headers =
      response_headers(qp, read_response_operation(resource), psn, msn_of(qp.responder, resource));
  if (bytes >= batch.limits().elsewhere_from && stays_until_sent(ca, resource, host)) {
    if (!batch.append_whole(qp.flow(), headers, {host.at, bytes}, true)) return Turn::kBatchFull;
  } else {
    batch.gather_changing();
    uint8_t* out = batch.append(qp.flow(), headers, bytes);
    if (out == nullptr) return Turn::kBatchFull;
    if (bytes > 0 && !read_memory(ca.memory.guarded(), host, {out, bytes})) {
      batch.abandon();
      return refuse_rest(ca, qp, batch, resource, psn);
    }
    acquire_fence();  // a later READ sees nothing older than this one has
    batch.commit();
  }
  count_answer(ca, qp, headers, bytes);
  drop_implied_ack(ca, qp, psn);
  if (++resource.next == resource.until) {
    note_read(qp, resource);
    finish_pending(qp.responder, resource);
    resume_held_send(ca, qp);
  }
  return Turn::kMore;
}

Turn send_atomic_response(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch,
                          ResponderResource& resource) {
  Headers headers = response_headers(qp, Operation::kAtomicAcknowledge, resource.first_psn,
                                     msn_of(qp.responder, resource));
  headers.atomic_original = resource.original;
  if (batch.append(qp.flow(), headers, 0) == nullptr) return Turn::kBatchFull;
  batch.commit();
  count_answer(ca, qp, headers, 0);
  drop_implied_ack(ca, qp, resource.first_psn);
  finish_pending(qp.responder, resource);
  return Turn::kMore;
}

Turn send_ack(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch) {
  ResponderState& resp = qp.responder;
  Headers headers = response_headers(qp, Operation::kAcknowledge, resp.ack->psn, resp.msn);
  if (resp.ack->is_nak) headers.aeth.syndrome = resp.ack->syndrome;
  if (batch.append(qp.flow(), headers, 0) == nullptr) return Turn::kBatchFull;
  batch.commit();
  count_answer(ca, qp, headers, 0);
  ++ca.counters.acks_sent;
  resp.ack.reset();
  resp.ack_urgent = resp.ack_holds_up = false;
  resp.unacked_packets = resp.unacked_at_start = 0;
  ca.deferred.remove(qp);
  note_credits(ca, qp, headers);
  return Turn::kIdle;
}

/// False: the batch is full.
bool send_gap_reports(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch) {
  ResponderState& resp = qp.responder;
  for (; resp.gaps_due > 0; --resp.gaps_due) {
    const Gap& gap = resp.gaps[resp.gaps_due - 1];
    Headers headers;
    headers.bth.opcode = kGapReportOpcode;
    headers.bth.dest_qp = qp.dest_qpn;
    headers.bth.pkey = qp.pkey;
    headers.bth.psn = gap.from;
    uint8_t* out = batch.append(qp.flow(), headers, kGapReportBytes);
    if (out == nullptr) return false;
    store_be32(out, gap.packets);
    store_be32(out + 4, resp.gap_query.value());
    batch.commit();
    count_sent(ca, qp, headers, kGapReportBytes);
  }
  return true;
}

}  // namespace

Turn transmit_responses(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, uint32_t budget,
                        bool all_acks) {
  ResponderState& resp = qp.responder;
  for (uint32_t sent = 0; sent < budget; ++sent) {
    ResponderResource* resource = first_pending(resp);
    if (resource == nullptr) {
      const bool must = all_acks || resp.ack_urgent || resp.ack_holds_up;
      const bool acks = resp.ack && (must || resp.ack->is_nak);
      if (acks && send_ack(ca, qp, batch) == Turn::kBatchFull) return Turn::kBatchFull;
      if (resp.ack) ca.deferred.push_back(qp);
      // Behind the ACK, which says what is no longer missing.
      return send_gap_reports(ca, qp, batch) ? Turn::kIdle : Turn::kBatchFull;
    }
    const bool is_atomic = resource->kind == ResponderResource::Kind::kAtomic;
    const Turn turn = is_atomic ? send_atomic_response(ca, qp, batch, *resource)
                                : send_read_response(ca, qp, batch, *resource);
    if (turn != Turn::kMore) return turn;
  }
  return Turn::kMore;
}

}  // namespace urxe
