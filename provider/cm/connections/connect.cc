// SPDX-License-Identifier: BSD-2-Clause
// rdma_connect(3), rdma_accept(3), rdma_reject(3), rdma_disconnect(3), rdma_notify(3).
#include "provider/cm/connections/connect.h"

#include <cerrno>
#include <span>

#include "packet/host/clock.h"
#include "provider/cm/connections/connection_messages.h"
#include "provider/cm/connections/qp_attributes.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

Flow flow_of(const Path& path) {
  Flow flow;
  flow.source = path.local;
  flow.destination = path.remote;
  flow.traffic_class = path.traffic_class;
  flow.hop_limit = path.hop_limit;
  return flow;
}

Expected<void, Errno> send_request(CmId& id, const rdma_ucm_conn_param& parameters,
                                   const rdma_ucm_ece& ece) {
  auto request = make_request(id, parameters, ece);
  if (!request) return Unexpected<Errno>(request.error());
  auto comm = with_cm(*id.device, [&](ConnectionManager& cm) {
    return cm.connect(*request, flow_of(id.paths[0]), id.paths[0].packet_lifetime, clock_now());
  });
  if (!comm) return Unexpected<Errno>(comm.error());
  set_communication(id, *comm);
  take_sent_request(id, *request);
  return {};
}

/// As many requests as Linux sends, but one in a second, where Linux waits for 4.1 s each.
Expected<void, Errno> send_service_request(CmId& id, const rdma_ucm_conn_param& parameters) {
  constexpr Duration kTimeout = milliseconds(1000);
  auto request = make_service_request(id, parameters);
  if (!request) return Unexpected<Errno>(request.error());
  auto comm = with_cm(*id.device, [&](ConnectionManager& cm) {
    return cm.resolve_service(*request, flow_of(id.paths[0]), kTimeout, kMaxCmRetries, clock_now());
  });
  if (!comm) return Unexpected<Errno>(comm.error());
  set_communication(id, *comm);
  return {};
}

Expected<void, Errno> send_reply(CmId& id, const rdma_ucm_conn_param& parameters,
                                 const rdma_ucm_ece& ece) {
  auto reply = make_reply(id, parameters, ece);
  if (!reply) return Unexpected<Errno>(reply.error());
  auto sent = with_cm(
      *id.device, [&](ConnectionManager& cm) { return cm.accept(id.comm, *reply, clock_now()); });
  if (sent) take_sent_reply(id, *reply);
  return sent;
}

Expected<void, Errno> send_service_reply(CmId& id, CmSidrStatus status, QKey qkey,
                                         std::span<const uint8_t> private_data,
                                         const rdma_ucm_ece& ece) {
  CmSidrRep reply;
  reply.status = status;
  if (private_data.size() > reply.private_data.bytes.size()) return error(EINVAL);
  if (status == CmSidrStatus::kSuccess) {
    if (auto set = set_qkey(id, qkey); !set) return set;
    reply.qpn = id.qpn;
    reply.qkey = id.qkey;
    reply.ece = {ece.vendor_id, ece.attr_mod};
  }
  reply.private_data.assign(private_data);
  return with_cm(*id.device, [&](ConnectionManager& cm) {
    return cm.answer_service(id.comm, reply, clock_now());
  });
}

Expected<void, Errno> send_rejection(CmId& id, CmRejectReason reason,
                                     std::span<const uint8_t> private_data) {
  if (id.comm == CommId{}) return error(EINVAL);
  if (id.is_ud()) {
    return send_service_reply(id, CmSidrStatus::kReject, QKey{}, private_data, {});
  }
  if (private_data.size() > CmRej{}.private_data.bytes.size()) return error(EINVAL);
  return with_cm(*id.device, [&](ConnectionManager& cm) {
    return cm.reject(id.comm, reason, {}, private_data, clock_now());
  });
}

/// Only an AF_IB id may choose the Q_Key.
QKey qkey_of(const CmId& id, const rdma_ucm_conn_param& parameters) {
  return id.uses_ip() ? QKey{} : QKey(parameters.qkey);
}

Expected<void, Errno> answer(CmId& id, const rdma_ucm_accept& command) {
  const rdma_ucm_conn_param& parameters = command.conn_param;
  const bool says = parameters.valid != 0;
  if (id.is_ud()) {
    const std::span<const uint8_t> data(parameters.private_data,
                                        says ? parameters.private_data_len : 0);
    return send_service_reply(id, CmSidrStatus::kSuccess, says ? qkey_of(id, parameters) : QKey{},
                              data, command.ece);
  }
  if (says) return send_reply(id, parameters, command.ece);
  return with_cm(*id.device,
                 [&](ConnectionManager& cm) { return cm.confirm(id.comm, {}, clock_now()); });
}

void take_queue_pair(CmId& id, const rdma_ucm_conn_param& parameters) {
  id.qpn = Qpn(parameters.qp_num & 0xffffff);
  id.srq = parameters.srq != 0;
}

}  // namespace

Expected<void, Errno> connect(CmFile& file, uint32_t number, const rdma_ucm_conn_param& parameters,
                              const rdma_ucm_ece& ece) {
  return Service::run(file, number, [&](Service&, CmId& id) -> Expected<void, Errno> {
    if (id.state != IdState::kRouteResolved) return error(EINVAL);
    take_queue_pair(id, parameters);
    auto sent =
        id.is_ud() ? send_service_request(id, parameters) : send_request(id, parameters, ece);
    if (sent) id.state = IdState::kConnect;
    return sent;
  });
}

Expected<void, Errno> accept(CmFile& file, const rdma_ucm_accept& command) {
  return Service::run(file, command.id, [&](Service&, CmId& id) -> Expected<void, Errno> {
    if (id.state != IdState::kConnect || id.comm == CommId{}) return error(EINVAL);
    if (command.conn_param.valid != 0) take_queue_pair(id, command.conn_param);
    auto answered = answer(id, command);
    if (!answered) {
      (void)send_rejection(id, CmRejectReason::kConsumer, {});
    } else if (command.conn_param.valid != 0) {
      id.uid = command.uid;
    }
    return answered;
  });
}

Expected<void, Errno> reject(CmFile& file, const rdma_ucm_reject& command) {
  const auto reason = static_cast<CmRejectReason>(command.reason);
  return Service::run(file, command.id, [&](Service&, CmId& id) -> Expected<void, Errno> {
    return send_rejection(id, reason, {command.private_data, command.private_data_len});
  });
}

Expected<void, Errno> disconnect(CmFile& file, uint32_t number) {
  return Service::run(file, number, [&](Service&, CmId& id) -> Expected<void, Errno> {
    if (id.comm == CommId{}) return error(EINVAL);
    with_cm(*id.device, [&](ConnectionManager& cm) {
      if (!cm.disconnect(id.comm, {}, clock_now())) {
        (void)cm.answer_disconnect(id.comm, {}, clock_now());
      }
    });
    return {};
  });
}

Expected<void, Errno> notify(CmFile& file, uint32_t number, ibv_event_type event) {
  return Service::run(file, number, [&](Service&, CmId& id) -> Expected<void, Errno> {
    if (id.comm == CommId{}) return error(EINVAL);
    if (event == IBV_EVENT_PATH_MIG) return {};
    if (event != IBV_EVENT_COMM_EST) return error(EINVAL);
    return with_cm(*id.device, [&](ConnectionManager& cm) {
      return cm.communication_established(id.comm, clock_now());
    });
  });
}

Expected<ib_uverbs_qp_attr, Errno> init_qp_attr(CmFile& file, uint32_t number, ibv_qp_state state) {
  return Service::run(file, number, [&](Service&, CmId& id) -> Expected<ib_uverbs_qp_attr, Errno> {
    if (id.device == nullptr) return error(EINVAL);
    id.connection.qp_type = id.qp_type;
    id.connection.port = id.port;
    if (id.is_ud()) {
      (void)set_qkey(id, QKey{});
      id.connection.qkey = id.qkey;
    }
    return qp_attributes(id, state);
  });
}

}  // namespace urxe::cm
