// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/qp_attributes.h"

#include <algorithm>
#include <cerrno>

#include "transport/later_verbs.h"

namespace urxe::cm {
namespace {

/// The address vector of a primary or an alternate path.
template <class Path>
ib_uverbs_ah_attr address_vector(const Path& path) {
  ib_uverbs_ah_attr vector{};
  vector.is_global = 1;
  std::copy(path.remote.bytes.begin(), path.remote.bytes.end(), vector.grh.dgid);
  vector.grh.flow_label = path.flow_label;
  vector.grh.sgid_index = path.gid_index;
  vector.grh.hop_limit = path.hop_limit;
  vector.grh.traffic_class = path.traffic_class;
  vector.sl = path.sl;
  vector.static_rate = path.static_rate;
  vector.port_num = path.port;
  return vector;
}

bool sends_reads(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

bool answers_reads(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

void add_datagram_init(const ConnectionParameters& connection, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  attributes.pkey_index = connection.pkey_index;
  attributes.port_num = connection.port;
  attributes.qkey = connection.qkey.value();
}

void add_init(const ConnectionParameters& connection, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  attributes.pkey_index = connection.pkey_index;
  attributes.port_num = connection.port;
  if (!connection.is_requested) return;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (connection.responder_resources != 0) {
    attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  kAccessFlushGlobal | kAccessFlushPersistent;
  }
}

void add_alternate(const AlternatePath& path, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask |= IBV_QP_ALT_PATH;
  attributes.alt_ah_attr = address_vector(path);
  attributes.alt_port_num = path.port;
  attributes.alt_pkey_index = path.pkey_index;
  attributes.alt_timeout = path.ack_timeout;
}

void add_ready_to_receive(const ConnectionParameters& connection, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  attributes.ah_attr = address_vector(connection);
  attributes.path_mtu = connection.path_mtu;
  attributes.dest_qp_num = connection.remote_qpn.value();
  attributes.rq_psn = connection.remote_psn.value();
  if (answers_reads(connection.qp_type)) {
    attributes.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    attributes.max_dest_rd_atomic = connection.responder_resources;
    attributes.min_rnr_timer = connection.min_rnr_timer;
  }
  if (connection.alternate) add_alternate(*connection.alternate, attributes);
}

void add_ready_to_send(const ConnectionParameters& connection, ib_uverbs_qp_attr& attributes) {
  attributes.qp_attr_mask |= IBV_QP_SQ_PSN;
  attributes.sq_psn = connection.local_psn.value();
  if (sends_reads(connection.qp_type)) {
    attributes.qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    attributes.retry_cnt = connection.retry_count;
    attributes.rnr_retry = connection.rnr_retry_count;
    attributes.max_rd_atomic = connection.initiator_depth;
  }
  if (sends_reads(connection.qp_type) || answers_reads(connection.qp_type)) {
    attributes.qp_attr_mask |= IBV_QP_TIMEOUT;
    attributes.timeout = connection.ack_timeout;
  }
  if (connection.alternate) {
    attributes.qp_attr_mask |= IBV_QP_PATH_MIG_STATE;
    attributes.path_mig_state = IBV_MIG_REARM;
  }
}

}  // namespace

Expected<ib_uverbs_qp_attr, Errno> qp_attributes(const ConnectionParameters& connection,
                                                 ibv_qp_state state) {
  const bool is_known = state == IBV_QPS_INIT || state == IBV_QPS_RTR || state == IBV_QPS_RTS;
  if (!is_known) return error(EINVAL);
  ib_uverbs_qp_attr attributes{};
  attributes.qp_attr_mask = IBV_QP_STATE;
  attributes.qp_state = state;
  if (connection.qp_type == IBV_QPT_UD) {
    add_datagram_init(connection, attributes);
  } else if (state == IBV_QPS_INIT) {
    add_init(connection, attributes);
  } else if (connection.remote_qpn == Qpn{}) {
    return error(EINVAL);
  } else if (state == IBV_QPS_RTR) {
    add_ready_to_receive(connection, attributes);
  } else {
    add_ready_to_send(connection, attributes);
  }
  return attributes;
}

Expected<ib_uverbs_qp_attr, Errno> qp_attributes(const CmId& id, ibv_qp_state state) {
  ConnectionParameters connection = id.connection;
  if (const auto timeout = id.options.ack_timeout) {
    connection.ack_timeout = std::min(*timeout, kLongestAckTimeout);
  }
  return qp_attributes(connection, state);
}

}  // namespace urxe::cm
