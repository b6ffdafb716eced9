// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/connection_messages.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "provider/cm/ids/event_response.h"
#include "transport/limits.h"

namespace urxe::cm {
namespace {

constexpr uint8_t kMostRetries = 7;
constexpr uint32_t kQpnMask = 0xffffff;

std::span<const uint8_t> private_data_of(const rdma_ucm_conn_param& parameters) {
  return {parameters.private_data, parameters.private_data_len};
}

IpCmHeader header_of(const CmId& id) {
  IpCmHeader header;
  header.ip_version = id.source.family() == AF_INET ? 4 : 6;
  header.source_port = id.source.port();
  header.source = id.source.gid();
  header.destination = id.destination.gid();
  return header;
}

/// The IP addressing header, if the id uses IP addresses, and the application's private data.
template <size_t N>
Expected<void, Errno> put_private_data(const CmId& id, const rdma_ucm_conn_param& parameters,
                                       CmBytes<N>& field) {
  const auto said = private_data_of(parameters);
  std::array<uint8_t, N> bytes{};
  const size_t header = id.uses_ip() ? kIpCmHeaderBytes : 0;
  if (header + said.size() > N) return error(EINVAL);
  if (header != 0) {
    const auto emitted = emit_ip_cm_header(header_of(id));
    std::copy(emitted.begin(), emitted.end(), bytes.begin());
  }
  std::copy(said.begin(), said.end(), bytes.begin() + header);
  field.assign(std::span(bytes).first(header + said.size()));
  return {};
}

CmPath message_path(const Path& path, uint8_t ack_timeout) {
  CmPath out;
  out.local = path.local;
  out.remote = path.remote;
  out.flow_label = path.flow_label;
  out.packet_rate = path.rate;
  out.traffic_class = path.traffic_class;
  out.hop_limit = path.hop_limit;
  out.sl = path.sl;
  out.ack_timeout = ack_timeout;
  return out;
}

void set_transport(CmReq& request, ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      request.transport = CmTransport::kUc;
      break;
    case IBV_QPT_XRC_SEND:
      request.transport = CmTransport::kExtended;
      request.extended_transport = 1;
      break;
    default:
      request.transport = CmTransport::kRc;
  }
}

void take_path(ConnectionParameters& connection, const Path& path) {
  connection.remote = path.remote;
  connection.flow_label = path.flow_label;
  connection.traffic_class = path.traffic_class;
  connection.hop_limit = path.hop_limit;
  connection.sl = path.sl;
}

void take_common(CmId& id, const CmReq& request) {
  ConnectionParameters& connection = id.connection;
  connection.is_requested = true;
  connection.qp_type = id.qp_type;
  connection.port = id.port;
  connection.gid_index = id.gid_index;
  take_path(connection, id.paths[0]);
  connection.path_mtu = static_cast<ibv_mtu>(request.path_mtu);
  connection.ack_timeout = request.primary.ack_timeout;
  connection.retry_count = request.retry_count;
  connection.remote_psn = id.psn;
}

}  // namespace

// Twice the life time of a packet, plus the ACK delay if it is of a similar length.
uint8_t ack_timeout_of(const CmId& id, uint8_t ack_delay) {
  const int lifetime = id.paths.empty() ? kPacketLifetime : id.paths[0].packet_lifetime;
  const int longer = std::max(lifetime + 1, int{ack_delay});
  const int shorter = std::min(lifetime + 1, int{ack_delay});
  const int timeout = shorter + 1 >= longer ? longer + 1 : longer;
  return static_cast<uint8_t>(
      std::min<int>(id.options.ack_timeout.value_or(timeout), kLongestAckTimeout));
}

Expected<CmReq, Errno> make_request(const CmId& id, const rdma_ucm_conn_param& parameters,
                                    const rdma_ucm_ece& ece) {
  CmReq request;
  request.service_id = service_of(id.space, id.destination);
  request.local_qpn = Qpn(parameters.qp_num & kQpnMask);
  request.responder_resources = parameters.responder_resources;
  request.initiator_depth = parameters.initiator_depth;
  request.remote_cm_response_timeout = kCmResponseTimeout;
  set_transport(request, id.qp_type);
  request.flow_control = parameters.flow_control != 0;
  request.starting_psn = id.psn;
  request.local_cm_response_timeout = kCmResponseTimeout;
  request.retry_count = std::min(parameters.retry_count, kMostRetries);
  request.pkey = id.paths[0].pkey;
  request.path_mtu = id.paths[0].mtu;
  request.rnr_retry_count = std::min(parameters.rnr_retry_count, kMostRetries);
  request.max_cm_retries = kMaxCmRetries;
  request.srq = parameters.srq != 0;
  request.primary = message_path(id.paths[0], ack_timeout_of(id, kLocalCaAckDelay));
  request.ece = {ece.vendor_id, ece.attr_mod};
  auto put = put_private_data(id, parameters, request.private_data);
  if (!put) return Unexpected<Errno>(put.error());
  return request;
}

Expected<CmRep, Errno> make_reply(const CmId& id, const rdma_ucm_conn_param& parameters,
                                  const rdma_ucm_ece& ece) {
  CmRep reply;
  const auto said = private_data_of(parameters);
  if (said.size() > reply.private_data.bytes.size()) return error(EINVAL);
  const Qpn qpn(parameters.qp_num & kQpnMask);
  const bool is_xrc = id.qp_type == IBV_QPT_XRC_RECV;
  (is_xrc ? reply.local_eecn : reply.local_qpn) = qpn;
  reply.starting_psn = id.psn;
  reply.target_ack_delay = kLocalCaAckDelay;
  if (id.connection.alternate_refused) reply.failover_accepted = kFailoverNotSupported;
  reply.responder_resources = parameters.responder_resources;
  reply.initiator_depth = is_xrc ? uint8_t{0} : parameters.initiator_depth;
  reply.flow_control = !is_xrc && parameters.flow_control != 0;
  reply.rnr_retry_count = std::min(parameters.rnr_retry_count, kMostRetries);
  reply.srq = is_xrc || parameters.srq != 0;
  reply.ece = {ece.vendor_id, ece.attr_mod};
  reply.private_data.assign(said);
  return reply;
}

Expected<CmSidrReq, Errno> make_service_request(const CmId& id,
                                                const rdma_ucm_conn_param& parameters) {
  CmSidrReq request;
  request.service_id = service_of(id.space, id.destination);
  request.pkey = id.paths[0].pkey;
  auto put = put_private_data(id, parameters, request.private_data);
  if (!put) return Unexpected<Errno>(put.error());
  return request;
}

void take_sent_request(CmId& id, const CmReq& request) {
  take_common(id, request);
  id.connection.responder_resources = request.responder_resources;
  id.connection.initiator_depth = request.initiator_depth;
  id.connection.rnr_retry_count = request.rnr_retry_count;
}

// The peer's initiator depth bounds our responder resources, and the reverse.
void take_received_request(CmId& id, const CmReq& request) {
  take_common(id, request);
  id.connection.remote_qpn = request.local_qpn;
  id.connection.local_psn = request.starting_psn;
  id.connection.alternate_refused = request.has_alternate;
  id.connection.responder_resources = request.initiator_depth;
  id.connection.initiator_depth = request.responder_resources;
  id.connection.rnr_retry_count = request.rnr_retry_count;
}

void take_sent_reply(CmId& id, const CmRep& reply) {
  id.connection.responder_resources = reply.responder_resources;
  id.connection.initiator_depth = reply.initiator_depth;
}

void take_reply(CmId& id, const CmRep& reply) {
  id.connection.remote_qpn = id.qp_type == IBV_QPT_XRC_SEND ? reply.local_eecn : reply.local_qpn;
  id.connection.local_psn = reply.starting_psn;
  id.connection.responder_resources = reply.initiator_depth;
  id.connection.initiator_depth = reply.responder_resources;
  id.connection.rnr_retry_count = reply.rnr_retry_count;
  id.connection.ack_timeout = ack_timeout_of(id, reply.target_ack_delay);
}

Expected<void, Errno> set_qkey(CmId& id, QKey qkey) {
  if (id.qkey != QKey{}) {
    if (qkey != QKey{} && qkey != id.qkey) return error(EINVAL);
    return {};
  }
  id.qkey = qkey != QKey{} ? qkey : kUdpQKey;
  return {};
}

rdma_ucm_event_resp take_service_reply(CmId& id, const CmSidrRep& reply) {
  if (reply.status == CmSidrStatus::kSuccess) {
    if (auto set = set_qkey(id, reply.qkey); !set) {
      return plain_event(EventType::kAddressError, -set.error().value);
    }
  }
  return service_reply(reply, id.paths[0], id.port, id.gid_index);
}

}  // namespace urxe::cm
