// SPDX-License-Identifier: BSD-2-Clause
// What the consumer of a connection manager did, by the message that shows it.
#include "tests/interop/replay/cm_replay.h"

namespace urxe::replay {
namespace {

/// 4.096 us * 2^n: what rxe's address resolution says.
constexpr uint8_t kPacketLifetime = 18;
constexpr uint8_t kSidrRetries = 15;

/// Along which the recorded message went.
Flow flow_of(const Frame& frame) {
  Flow flow = frame.packet.flow;
  flow.source_port = Flow{}.source_port;
  flow.flow_label = 0;
  return flow;
}

}  // namespace

CommId CmReplay::id_for(CommId own, CommId peers) const {
  if (const auto ours = translation_.ours_for(own)) return *ours;
  const auto it = by_peers_id_.find(peers);
  return it != by_peers_id_.end() ? it->second : CommId{};
}

bool CmReplay::act(const CmBody& body, const Frame& frame) {
  return std::visit([&](const auto& message) { return act_on(message, frame); }, body);
}

bool CmReplay::act_on(const CmReq& req, const Frame& frame) {
  return cm_.connect(req, flow_of(frame), kPacketLifetime, adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmRep& rep, const Frame&) {
  const CommId id = id_for(rep.local_comm_id, rep.remote_comm_id);
  return cm_.accept(id, rep, adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmRtu& rtu, const Frame&) {
  const CommId id = id_for(rtu.local_comm_id, rtu.remote_comm_id);
  return cm_.confirm(id, rtu.private_data.view(), adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmRej& rej, const Frame&) {
  const CommId id = id_for(rej.local_comm_id, rej.remote_comm_id);
  const auto info = rej.additional_info.view();
  return cm_.reject(id, rej.reason, info, rej.private_data.view(), adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmMra& mra, const Frame&) {
  const CommId id = id_for(mra.local_comm_id, mra.remote_comm_id);
  return cm_.delay(id, mra.service_timeout, mra.private_data.view(), adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmDreq& dreq, const Frame&) {
  const CommId id = id_for(dreq.local_comm_id, dreq.remote_comm_id);
  return cm_.disconnect(id, dreq.private_data.view(), adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmDrep& drep, const Frame&) {
  const CommId id = id_for(drep.local_comm_id, drep.remote_comm_id);
  return cm_.answer_disconnect(id, drep.private_data.view(), adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmSidrReq& req, const Frame& frame) {
  return cm_.resolve_service(req, flow_of(frame), seconds(2), kSidrRetries, adapter_.now())
      .has_value();
}

bool CmReplay::act_on(const CmSidrRep& rep, const Frame&) {
  return cm_.answer_service(id_for({}, rep.request_id), rep, adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmLap& lap, const Frame&) {
  const CommId id = id_for(lap.local_comm_id, lap.remote_comm_id);
  return cm_.load_alternate_path(id, lap, adapter_.now()).has_value();
}

bool CmReplay::act_on(const CmApr& apr, const Frame&) {
  const CommId id = id_for(apr.local_comm_id, apr.remote_comm_id);
  return cm_.answer_alternate_path(id, apr, adapter_.now()).has_value();
}

}  // namespace urxe::replay
