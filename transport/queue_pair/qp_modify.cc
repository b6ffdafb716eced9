// SPDX-License-Identifier: BSD-2-Clause
// modify(): checks and applies queue pair attributes (IBTA vol. 1, 10.3; ibv_modify_qp(3)).
#include <cerrno>
#include <memory>
#include <utility>

#include "transport/device/address.h"
#include "transport/limits.h"
#include "transport/observation/note_cause.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/completer.h"
#include "transport/requester/read_piece.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

constexpr uint32_t kQpnMask = 0xffffff;

bool address_values_are_valid(const ChannelAdapter& ca, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_PKEY_INDEX) != 0 && attr.pkey_index != 0) return false;
  if ((mask & IBV_QP_PORT) != 0 && attr.port_num != 1) return false;
  if ((mask & IBV_QP_AV) != 0 && !peer_is_valid(ca.config, attr.ah_attr)) return false;
  if ((mask & IBV_QP_PATH_MTU) != 0 &&
      (attr.path_mtu < IBV_MTU_256 || attr.path_mtu > ca.config.active_mtu)) {
    return false;
  }
  return true;
}

/// The responder must not forget READs that it is still answering.
bool fits_pending(const QueuePair& qp, const ibv_qp_attr& attr, int mask) {
  return (mask & IBV_QP_MAX_DEST_RD_ATOMIC) == 0 ||
         attr.max_dest_rd_atomic >= pending_resources(qp);
}

/// Access flags are not checked, as in the kernel: programs pass the flags of their regions, newer
/// ones too. Those without a meaning for queue pairs grant nothing. Nor are retry_cnt and
/// rnr_retry: no packet of a queue pair has them, and programs for devices that use 3 bits pass 8
/// and 10. They mean what they say, as with soft-RoCE.
bool values_are_valid(const ChannelAdapter& ca, const ibv_qp_attr& attr, int mask) {
  const auto within = [&](int bit, uint32_t value, uint32_t most) {
    return (mask & bit) == 0 || value <= most;
  };
  return address_values_are_valid(ca, attr, mask) &&
         within(IBV_QP_DEST_QPN, attr.dest_qp_num, kQpnMask) &&
         within(IBV_QP_MAX_DEST_RD_ATOMIC, attr.max_dest_rd_atomic, kMaxRdAtomic) &&
         within(IBV_QP_MAX_QP_RD_ATOMIC, attr.max_rd_atomic, kMaxRdAtomic) &&
         within(IBV_QP_TIMEOUT, attr.timeout, kMaxTimeout) &&
         within(IBV_QP_MIN_RNR_TIMER, attr.min_rnr_timer, kMaxTimeout) &&
         ((mask & IBV_QP_RATE_LIMIT) == 0 || rate_is_valid(attr.rate_limit));
}

/// A path that no queue pair uses yet.
struct ReleasePath {
  PathTable* paths;
  void operator()(Path* path) const { paths->release(path); }
};
using AcquiredPath = std::unique_ptr<Path, ReleasePath>;

AcquiredPath acquire_path(ChannelAdapter& ca, const ibv_ah_attr& av, uint32_t peer_qpn) {
  const Gid destination = flow_to(ca.config, av).destination;
  return {ca.paths.acquire(destination, peer_qpn, ca.config.socket_window), {&ca.paths}};
}

void resolve_address(ChannelAdapter& ca, QueuePair& qp, AcquiredPath path) {
  const ibv_ah_attr& av = qp.attr.ah_attr;
  Flow flow = flow_to(ca.config, av);
  flow.source_port = source_port_for(av.grh.flow_label, qp.qpn, qp.dest_qpn);
  change_flow(ca, qp, flow, path.release());
  qp.migration.on_alternate = false;
}

void copy_values(ibv_qp_attr& to, const ibv_qp_attr& from, int mask) {
  if ((mask & IBV_QP_PKEY_INDEX) != 0) to.pkey_index = from.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) to.port_num = from.port_num;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) to.qp_access_flags = from.qp_access_flags;
  if ((mask & IBV_QP_AV) != 0) to.ah_attr = from.ah_attr;
  if ((mask & IBV_QP_ALT_PATH) != 0) {
    to.alt_ah_attr = from.alt_ah_attr;
    to.alt_pkey_index = from.alt_pkey_index;
    to.alt_port_num = from.alt_port_num;
    to.alt_timeout = from.alt_timeout;
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) to.path_mtu = from.path_mtu;
  if ((mask & IBV_QP_DEST_QPN) != 0) to.dest_qp_num = from.dest_qp_num;
  if ((mask & IBV_QP_RQ_PSN) != 0) to.rq_psn = from.rq_psn & Psn::kMask;
  if ((mask & IBV_QP_SQ_PSN) != 0) to.sq_psn = from.sq_psn & Psn::kMask;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) to.max_rd_atomic = from.max_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) to.min_rnr_timer = from.min_rnr_timer;
  if ((mask & IBV_QP_TIMEOUT) != 0) to.timeout = from.timeout;
  if ((mask & IBV_QP_QKEY) != 0) to.qkey = from.qkey;
  if ((mask & IBV_QP_RETRY_CNT) != 0) to.retry_cnt = from.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) to.rnr_retry = from.rnr_retry;
  if ((mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0) {
    to.en_sqd_async_notify = from.en_sqd_async_notify;
  }
}

void apply_values(ChannelAdapter& ca, QueuePair& qp, const ibv_qp_attr& attr, int mask,
                  Instant now) {
  // What may throw std::bad_alloc comes first: then nothing has changed.
  const uint32_t peer = (mask & IBV_QP_DEST_QPN) != 0 ? attr.dest_qp_num : qp.attr.dest_qp_num;
  AcquiredPath path;
  AcquiredPath alternate;
  if ((mask & IBV_QP_AV) != 0) path = acquire_path(ca, attr.ah_attr, peer);
  if ((mask & IBV_QP_ALT_PATH) != 0) alternate = acquire_path(ca, attr.alt_ah_attr, peer);
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) set_resource_capacity(qp, attr.max_dest_rd_atomic);
  copy_values(qp.attr, attr, mask);
  if ((mask & IBV_QP_DEST_QPN) != 0) qp.dest_qpn = Qpn(attr.dest_qp_num);
  if (path) resolve_address(ca, qp, std::move(path));
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    qp.mtu = 128U << attr.path_mtu;
    qp.read_piece = read_piece_packets(ca.config.socket_window, qp.mtu);
  }
  if ((mask & IBV_QP_RQ_PSN) != 0) set_expected_psn(qp, Psn(attr.rq_psn));
  if ((mask & IBV_QP_SQ_PSN) != 0) set_first_psn(qp, Psn(attr.sq_psn));
  if ((mask & IBV_QP_RETRY_CNT) != 0) restore_retries(qp);
  if ((mask & IBV_QP_RNR_RETRY) != 0) restore_rnr_retries(qp);
  if (alternate) load_alternate_path(ca, qp, alternate.release());
  if ((mask & IBV_QP_RATE_LIMIT) != 0) set_rate_limit(ca, qp, {attr.rate_limit}, now);
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0) set_migration_state(ca, qp, attr.path_mig_state);
}

void enter_state(ChannelAdapter& ca, QueuePair& qp, ibv_qp_state from, ibv_qp_state to,
                 const ibv_qp_attr& attr, int mask) {
  if (to == IBV_QPS_RESET) return reset(ca, qp);
  if (to == IBV_QPS_ERR) {
    note_cause(qp, {.reason = ErrorReason::kByApplication});
    return enter_error(ca, qp, OwedAnswers::kDrop);
  }
  if (from == IBV_QPS_SQE) {
    flush_sends(ca, qp);  // those posted since it entered SQE
    note_recovery(qp);
  }
  qp.set_state(to);
  if (to == IBV_QPS_RTS) ca.active.push_back(qp);
  if (to == IBV_QPS_SQD && from == IBV_QPS_RTS) {
    qp.sq_drained_pending =
        (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && attr.en_sqd_async_notify != 0;
    report_drained(ca, qp);
  }
}

}  // namespace

void reset(ChannelAdapter& ca, QueuePair& qp) {
  qp.set_state(IBV_QPS_RESET);
  stop_requester(ca, qp);
  ca.active.remove(qp);
  ca.sending_frames.remove(qp);
  ca.deferred.remove(qp);
  if (qp.path != nullptr) ca.paths.release(qp.path);
  qp.path = nullptr;
  unload_alternate_path(ca, qp);
  ca.memory.unbind_all(qp.qpn);
  if (qp.send_cq != nullptr) qp.send_cq->purge(qp.qpn.value());
  if (qp.recv_cq != nullptr) qp.recv_cq->purge(qp.qpn.value());
  drop_taken(qp);
  qp.sq.reset();
  qp.rq.reset();
  reset_requester(qp);
  ca.held.forget_all(qp);
  reset_responder(qp);
  qp.attr = ibv_qp_attr{};
  qp.flow_ = Flow{};
  qp.peer_ports = PeerPorts{};
  qp.pacer = Pacer{};
  qp.sq_drained_pending = false;
  qp.answers_go_first = qp.notification_due = false;
  qp.notified_at.reset();
  note_recovery(qp);
}

Expected<void, Errno> modify(ChannelAdapter& ca, QueuePair& qp, const ibv_qp_attr& attr, int given,
                             Instant now) {
  const int mask = without_ignored(qp.type, given);
  const ibv_qp_state from = qp.state();
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != from) return error(EINVAL);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from;
  const TransitionMasks masks = transition_masks(qp.type, from, to);
  const int allowed = masks.required | masks.optional | IBV_QP_STATE;
  if (!masks.legal || (mask & masks.required) != masks.required || (mask & ~allowed) != 0) {
    return error(EINVAL);
  }
  if (!values_are_valid(ca, attr, mask) || !migration_is_valid(ca, qp, attr, mask) ||
      !fits_pending(qp, attr, mask)) {
    return error(EINVAL);
  }
  apply_values(ca, qp, attr, mask, now);
  if (to != from || to == IBV_QPS_RESET) enter_state(ca, qp, from, to, attr, mask);
  return {};
}

}  // namespace urxe
