// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/cm_exchanges.h"

#include <variant>

namespace urxe::analyze {
namespace {

uint32_t mtu_bytes(uint8_t code) {
  constexpr uint8_t kLargestCode = 5;
  return code >= 1 && code <= kLargestCode ? 128U << code : 0;
}

Service transport_of(const CmReq& req) {
  constexpr uint8_t kXrc = 1;
  switch (req.transport) {
    case CmTransport::kUc:
      return Service::kUc;
    case CmTransport::kExtended:
      return req.extended_transport == kXrc ? Service::kXrc : Service::kRc;
    default:
      return Service::kRc;
  }
}

}  // namespace

CmExchange& CmExchanges::begin(const Message& message, CommId id) {
  CmExchange& exchange = exchanges_.emplace_back();
  exchange.active = message.from;
  exchange.passive = message.to;
  exchange.active_id = id;
  exchange.frame = message.frame;
  by_id_[{message.from.bytes, id.value()}] = &exchange;
  return exchange;
}

CmExchange* CmExchanges::find(const Gid& owner, CommId id) {
  const auto it = by_id_.find({owner.bytes, id.value()});
  return it == by_id_.end() ? nullptr : it->second;
}

CmExchange* CmExchanges::find(const Message& message, CommId local, CommId remote) {
  CmExchange* const exchange = find(message.from, local);
  return exchange != nullptr ? exchange : find(message.to, remote);
}

void CmExchanges::note(int64_t& time_ns, CmExchange& exchange, const Message& message) {
  if (time_ns != kNotSeen) ++exchange.repeated;
  if (time_ns == kNotSeen) time_ns = message.time_ns;
}

void CmExchanges::take(const Message& message, const CmReq& req) {
  CmExchange* exchange = find(message.from, req.local_comm_id);
  const bool known = exchange != nullptr && exchange->req_ns != kNotSeen &&
                     exchange->active_qpn == req.local_qpn && exchange->dreq_ns == kNotSeen;
  if (!known) exchange = &begin(message, req.local_comm_id);
  exchange->service = req.service_id;
  exchange->transport = transport_of(req);
  exchange->active_qpn = req.local_qpn;
  exchange->active_starting_psn = req.starting_psn;
  exchange->path_mtu = mtu_bytes(req.path_mtu);
  exchange->ack_timeout = req.primary.ack_timeout;
  note(exchange->req_ns, *exchange, message);
}

const CmExchange* CmExchanges::take(const Message& message, const CmRep& rep) {
  CmExchange* const exchange = find(message.to, rep.remote_comm_id);
  if (exchange == nullptr) return nullptr;
  const bool first = exchange->rep_ns == kNotSeen;
  exchange->passive_id = rep.local_comm_id;
  exchange->passive_qpn = rep.local_qpn.value() != 0 ? rep.local_qpn : rep.local_eecn;
  exchange->passive_starting_psn = rep.starting_psn;
  by_id_[{message.from.bytes, rep.local_comm_id.value()}] = exchange;
  note(exchange->rep_ns, *exchange, message);
  return first && exchange->req_ns != kNotSeen ? exchange : nullptr;
}

void CmExchanges::take(const Message& message, const CmRej& rej) {
  CmExchange* const exchange = find(message, rej.local_comm_id, rej.remote_comm_id);
  if (exchange == nullptr) return;
  exchange->reject_reason = static_cast<uint16_t>(rej.reason);
  exchange->rejected_by_active =
      message.from == exchange->active && rej.local_comm_id == exchange->active_id;
  note(exchange->rej_ns, *exchange, message);
}

void CmExchanges::take(const Message& message, const CmDreq& dreq) {
  CmExchange* const exchange = find(message, dreq.local_comm_id, dreq.remote_comm_id);
  if (exchange == nullptr) return;
  // No queue pair has this number: urxe asks by it whether the other end still exists.
  if (dreq.remote_qpn == Qpn(kMulticastQpn)) {
    ++exchange->questions;
  } else {
    note(exchange->dreq_ns, *exchange, message);
  }
}

void CmExchanges::take(const Message& message, const CmSidrReq& req) {
  CmExchange* exchange = find(message.from, req.request_id);
  if (exchange == nullptr || !exchange->datagrams) exchange = &begin(message, req.request_id);
  exchange->datagrams = true;
  exchange->service = req.service_id;
  note(exchange->req_ns, *exchange, message);
}

void CmExchanges::take(const Message& message, const CmSidrRep& rep) {
  CmExchange* const exchange = find(message.to, rep.request_id);
  if (exchange == nullptr) return;
  exchange->sidr_status = static_cast<uint8_t>(rep.status);
  exchange->passive_qpn = rep.qpn;
  note(exchange->rep_ns, *exchange, message);
}

const CmExchange* CmExchanges::on_packet(const CapturedPacket& packet) {
  const auto parsed = parse_cm_message(packet.view.payload);
  if (!parsed || packet.cut) {
    ++others_;
    return nullptr;
  }
  ++messages_;
  const Message message{packet.flow.source, packet.flow.destination, packet.time_ns, packet.frame};
  const CmBody& body = parsed->body;
  if (const auto* rep = std::get_if<CmRep>(&body)) return take(message, *rep);
  if (const auto* req = std::get_if<CmReq>(&body)) take(message, *req);
  if (const auto* rej = std::get_if<CmRej>(&body)) take(message, *rej);
  if (const auto* sidr = std::get_if<CmSidrReq>(&body)) take(message, *sidr);
  if (const auto* sidr = std::get_if<CmSidrRep>(&body)) take(message, *sidr);
  const auto time_of = [&](const auto& ids, int64_t CmExchange::*time_ns) {
    CmExchange* const exchange = find(message, ids.local_comm_id, ids.remote_comm_id);
    if (exchange != nullptr) note(exchange->*time_ns, *exchange, message);
  };
  if (const auto* rtu = std::get_if<CmRtu>(&body)) time_of(*rtu, &CmExchange::rtu_ns);
  if (const auto* dreq = std::get_if<CmDreq>(&body)) take(message, *dreq);
  if (const auto* drep = std::get_if<CmDrep>(&body)) time_of(*drep, &CmExchange::drep_ns);
  return nullptr;
}

std::string reject_reason_text(uint16_t reason) {
  switch (static_cast<CmRejectReason>(reason)) {
    case CmRejectReason::kNoQp:
      return "no queue pair";
    case CmRejectReason::kNoResources:
      return "no resources";
    case CmRejectReason::kTimeout:
      return "time-out";
    case CmRejectReason::kUnsupported:
      return "unsupported request";
    case CmRejectReason::kInvalidServiceId:
      return "invalid service id";
    case CmRejectReason::kStaleConnection:
      return "stale connection";
    case CmRejectReason::kConsumer:
      return "rejected by the program";
    default:
      return "reason " + std::to_string(reason);
  }
}

}  // namespace urxe::analyze
