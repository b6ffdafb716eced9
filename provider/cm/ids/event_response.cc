// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/event_response.h"

#include <algorithm>
#include <span>

namespace urxe::cm {
namespace {

/// Copies the field from `offset` on; it is zero if the sender has not filled it.
template <size_t N, class Parameters>
void put_private_data(const CmBytes<N>& data, size_t offset, Parameters& parameters) {
  static_assert(N <= sizeof parameters.private_data);
  const auto field = std::span(data.bytes).subspan(std::min(offset, N));
  std::copy(field.begin(), field.end(), parameters.private_data);
  parameters.private_data_len = static_cast<uint8_t>(field.size());
}

void put_ece(const CmEce& ece, rdma_ucm_event_resp& event) {
  event.ece.vendor_id = ece.vendor_id;
  event.ece.attr_mod = ece.attr_mod;
}

ib_uverbs_ah_attr address_of(const Gid& remote, uint8_t port, uint8_t gid_index) {
  ib_uverbs_ah_attr address{};
  std::copy(remote.bytes.begin(), remote.bytes.end(), address.grh.dgid);
  address.grh.sgid_index = gid_index;
  address.is_global = 1;
  address.port_num = port;
  return address;
}

}  // namespace

rdma_ucm_event_resp plain_event(EventType type, int status) {
  rdma_ucm_event_resp event{};
  event.event = static_cast<uint32_t>(type);
  event.status = static_cast<uint32_t>(status);
  return event;
}

rdma_ucm_event_resp connect_request(const CmReq& request, size_t header) {
  rdma_ucm_event_resp event = plain_event(EventType::kConnectRequest);
  rdma_ucm_conn_param& parameters = event.param.conn;
  put_private_data(request.private_data, header, parameters);
  parameters.responder_resources = request.initiator_depth;
  parameters.initiator_depth = request.responder_resources;
  parameters.flow_control = request.flow_control ? 1 : 0;
  parameters.retry_count = request.retry_count;
  parameters.rnr_retry_count = request.rnr_retry_count;
  parameters.srq = request.srq ? 1 : 0;
  parameters.qp_num = request.local_qpn.value();
  put_ece(request.ece, event);
  return event;
}

rdma_ucm_event_resp service_request(const CmSidrReq& request, size_t header) {
  rdma_ucm_event_resp event = plain_event(EventType::kConnectRequest);
  put_private_data(request.private_data, header, event.param.ud);
  return event;
}

rdma_ucm_event_resp connect_response(const CmRep& reply) {
  rdma_ucm_event_resp event = plain_event(EventType::kConnectResponse);
  rdma_ucm_conn_param& parameters = event.param.conn;
  put_private_data(reply.private_data, 0, parameters);
  parameters.responder_resources = reply.initiator_depth;
  parameters.initiator_depth = reply.responder_resources;
  parameters.flow_control = reply.flow_control ? 1 : 0;
  parameters.rnr_retry_count = reply.rnr_retry_count;
  parameters.srq = reply.srq ? 1 : 0;
  const Qpn qpn = reply.local_qpn != Qpn{} ? reply.local_qpn : reply.local_eecn;
  parameters.qp_num = qpn.value();
  put_ece(reply.ece, event);
  return event;
}

rdma_ucm_event_resp rejected(const CmRej& rejection) {
  rdma_ucm_event_resp event = plain_event(EventType::kRejected, static_cast<int>(rejection.reason));
  put_private_data(rejection.private_data, 0, event.param.conn);
  return event;
}

rdma_ucm_event_resp service_reply(const CmSidrRep& reply, const Path& path, uint8_t port,
                                  uint8_t gid_index) {
  if (reply.status != CmSidrStatus::kSuccess) {
    rdma_ucm_event_resp event =
        plain_event(EventType::kUnreachable, static_cast<int>(reply.status));
    put_private_data(reply.private_data, 0, event.param.ud);
    return event;
  }
  rdma_ucm_event_resp event = plain_event(EventType::kEstablished);
  rdma_ucm_ud_param& parameters = event.param.ud;
  put_private_data(reply.private_data, 0, parameters);
  parameters.ah_attr = address_of(path.remote, port, gid_index);
  parameters.ah_attr.grh.flow_label = path.flow_label;
  parameters.ah_attr.grh.hop_limit = path.hop_limit;
  parameters.ah_attr.grh.traffic_class = path.traffic_class;
  parameters.ah_attr.sl = path.sl;
  parameters.qp_num = reply.qpn.value();
  parameters.qkey = reply.qkey.value();
  return event;
}

rdma_ucm_event_resp multicast_join(const Gid& group, QKey qkey, uint8_t port, uint8_t gid_index,
                                   uint8_t hop_limit, uint8_t traffic_class) {
  rdma_ucm_event_resp event = plain_event(EventType::kMulticastJoin);
  rdma_ucm_ud_param& parameters = event.param.ud;
  parameters.ah_attr = address_of(group, port, gid_index);
  parameters.ah_attr.grh.hop_limit = hop_limit;
  parameters.ah_attr.grh.traffic_class = traffic_class;
  parameters.qp_num = kMulticastQpn;
  parameters.qkey = qkey.value();
  return event;
}

ibv_qp_type qp_type_of(const CmReq& request) {
  switch (request.transport) {
    case CmTransport::kUc:
      return IBV_QPT_UC;
    case CmTransport::kExtended:
      return IBV_QPT_XRC_RECV;
    default:
      return IBV_QPT_RC;
  }
}

}  // namespace urxe::cm
