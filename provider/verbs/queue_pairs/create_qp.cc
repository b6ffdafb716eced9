// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "packet/wire/qpn_layout.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/abi/library.h"
#include "provider/verbs/completions/cq_lanes.h"
#include "provider/verbs/queue_pairs/xrc.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// Every queue pair takes a little inline data, as it does on hardware adapters: some programs rely
/// on it without asking for it.
constexpr uint32_t kLeastInline = 16;

/// Clears the attributes that the type ignores (ibv_create_qp_ex(3)).
ibv_qp_init_attr_ex meaningful(const ibv_qp_init_attr_ex& init) {
  ibv_qp_init_attr_ex result = init;
  if (init.qp_type == IBV_QPT_XRC_RECV) {
    result.pd = nullptr;
    result.send_cq = nullptr;
    result.cap = ibv_qp_cap{};
  } else {
    result.xrcd = nullptr;
    result.cap.max_inline_data = std::max(result.cap.max_inline_data, kLeastInline);
  }
  const bool is_xrc = init.qp_type == IBV_QPT_XRC_RECV || init.qp_type == IBV_QPT_XRC_SEND;
  if (is_xrc) {
    result.recv_cq = nullptr;
    result.srq = nullptr;
  }
  if (is_xrc || init.srq != nullptr) result.cap.max_recv_wr = result.cap.max_recv_sge = 0;
  return result;
}

/// Whether the queue pair may use this shared receive queue: a basic one, and only for RC, UD
/// (ibv_create_qp(3)) and raw packets. Its protection domain, which receives are checked against,
/// may be another.
bool may_share(ibv_srq* handle, const Context& owner, const ibv_qp_init_attr_ex& init) {
  const ibv_qp_type type = init.qp_type;
  if (type != IBV_QPT_RC && type != IBV_QPT_UD && type != IBV_QPT_RAW_PACKET) return false;
  const Srq& srq = srq_of(handle);
  return is_handle_of(owner, handle) && srq.queue->domain == nullptr;
}

/// Checks that the objects that the type needs are given, and belong to this context. The transport
/// checks the rest.
int check_init(const Context& owner, const ibv_qp_init_attr_ex& init) {
  if (init.qp_type == IBV_QPT_XRC_RECV) {
    return init.xrcd != nullptr && is_handle_of(owner, init.xrcd) ? 0 : EINVAL;
  }
  if (init.pd == nullptr || !is_handle_of(owner, init.pd)) return EINVAL;
  if (init.send_cq == nullptr || !is_handle_of(owner, init.send_cq)) return EINVAL;
  if (init.srq != nullptr && !may_share(init.srq, owner, init)) return EINVAL;
  if (init.qp_type == IBV_QPT_XRC_SEND) return 0;
  return init.recv_cq != nullptr && is_handle_of(owner, init.recv_cq) ? 0 : EINVAL;
}

QpInit transport_init(const ibv_qp_init_attr_ex& init, Qp& qp) {
  QpInit result;
  if (init.pd != nullptr) result.pd = pd_of(init.pd).id;
  if (init.send_cq != nullptr) result.send_cq = cq_of(init.send_cq).queue;
  if (init.recv_cq != nullptr) result.recv_cq = cq_of(init.recv_cq).queue;
  if (init.srq != nullptr) result.srq = srq_of(init.srq).queue;
  if (init.xrcd != nullptr) result.domain = xrcd_of(init.xrcd).domain;
  result.type = init.qp_type;
  result.cap = init.cap;
  result.sq_sig_all = init.sq_sig_all != 0;
  result.user = &qp;
  result.context = qp.owner;
  return result;
}

/// With the device's lock held.
Expected<QueuePair*, Errno> make_queue_pair(Lane& lane, QpInit init) {
  // There are more numbers than queue pairs, so a free one is found.
  for (uint32_t i = 0; i < kQpIndices; ++i) {
    init.qpn = lane.next_qpn();
    auto made = lane.device().create_qp(init);
    if (made || made.error().value != EEXIST) return made;
  }
  return error(ENOMEM);
}

/// Claims source ports for the address handles that were made before the context had a UD queue
/// pair in the lane. One that fails prints an error, and fails again when it is used.
void prepare_address_handles(Context& owner, Lane& lane) noexcept {
  const uint32_t bit = 1U << lane.number();
  if ((owner.datagram_lanes & bit) != 0) return;
  owner.datagram_lanes |= bit;
  owner.ahs.for_each([&lane](Ah& ah) {
    try {
      (void)prepare(ah, lane);
    } catch (const std::bad_alloc&) {
      // Not prepared: as above.
    }
  });
}

void show(Qp& qp, ibv_context* context, const ibv_qp_init_attr_ex& init) {
  ibv_qp& handle = qp.qp;
  handle.context = context;
  handle.qp_context = init.qp_context;
  handle.pd = init.pd;
  handle.send_cq = init.send_cq;
  handle.recv_cq = init.recv_cq;
  handle.srq = init.srq;
  handle.qp_num = handle.handle = admit(qp, qp.queue_pair->qpn.value());
  handle.qp_type = init.qp_type;
  handle.state = IBV_QPS_RESET;
  pthread_mutex_init(&handle.mutex, nullptr);
  pthread_cond_init(&handle.cond, nullptr);
}

std::unique_ptr<Qp> make_handle(Context& owner, ibv_pd* pd) {
  auto qp = std::make_unique<Qp>();
  qp->owner = &owner;
  if (pd == nullptr) return qp;  // an XRC target
  qp->domain = DomainUse(pd_of(pd));
  if (pd_of(pd).thread != nullptr) {
    qp->send_poster.disable();
    qp->recv_poster.disable();
  }
  return qp;
}

Expected<void, Errno> start_for(RuntimeDevice& device, ibv_qp_type type) {
  if (type != IBV_QPT_RAW_PACKET) return device.start();
  if (!device.has_raw_packets()) return Unexpected<Errno>(Errno{EOPNOTSUPP});
  auto started = device.start();
  return started ? device.start_raw_packets() : started;
}

/// The queue pairs of one shared receive queue have one lane, and those of one completion queue, or
/// completion channel, if they can. New queues get the lane of the thread.
Lane& choose_lane(const Context& owner, const ibv_qp_init_attr_ex& init) {
  RuntimeDevice& device = owner.device();
  if (init.qp_type == IBV_QPT_RAW_PACKET || init.qp_type == IBV_QPT_XRC_RECV) {
    return device.first_lane();
  }
  if (init.srq != nullptr && srq_of(init.srq).lane != nullptr) return *srq_of(init.srq).lane;
  for (ibv_cq* const cq : {init.recv_cq, init.send_cq}) {
    if (cq == nullptr) continue;
    if (Lane* const lane = wanted_lane(cq_of(cq)); lane != nullptr) return *lane;
  }
  return device.choose_lane();
}

void use_lane(const ibv_qp_init_attr_ex& init, Qp& qp, Lane& lane) {
  qp.lane = &lane;
  qp.progress = &lane.progress();
  if (init.srq != nullptr) srq_of(init.srq).lane = &lane;
  if (init.recv_cq != nullptr) use_lane(cq_of(init.recv_cq), lane);
  if (init.send_cq != nullptr) use_lane(cq_of(init.send_cq), lane);
}

/// Makes a queue pair of the attributes that meaningful() has left, and writes the granted
/// capabilities back.
ibv_qp* create(ibv_context* context, ibv_qp_init_attr_ex& init) {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (int wrong = check_init(owner, init); wrong != 0) return fail(wrong);
  try {
    auto qp = make_handle(owner, init.pd);
    RuntimeDevice::Guard guard(owner.device());
    if (auto started = start_for(owner.device(), init.qp_type); !started) {
      return fail(started.error().value);
    }
    Lane& lane = choose_lane(owner, init);
    auto made = make_queue_pair(lane, transport_init(init, *qp));
    if (!made) return fail(made.error().value);
    qp->queue_pair = *made;
    use_lane(init, *qp, lane);
    owner.qps.push_back(*qp);
    if (init.qp_type == IBV_QPT_UD) prepare_address_handles(owner, lane);
    if (init.xrcd != nullptr) join_domain(*qp, xrcd_of(init.xrcd));
    show(*qp, context, init);
    ibv_qp_attr attr{};
    ibv_qp_init_attr granted{};
    lane.device().query_qp(**made, attr, granted);
    init.cap = granted.cap;
    return &qp.release()->qp;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

}  // namespace

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* init) noexcept {
  ibv_qp_init_attr_ex plain{};
  plain.qp_context = init->qp_context;
  plain.send_cq = init->send_cq;
  plain.recv_cq = init->recv_cq;
  plain.srq = init->srq;
  plain.cap = init->cap;
  plain.qp_type = init->qp_type;
  plain.sq_sig_all = init->sq_sig_all;
  plain.pd = pd;
  ibv_qp_init_attr_ex used = meaningful(plain);
  ibv_qp* qp = create(pd->context, used);
  if (qp != nullptr) init->cap = used.cap;
  return qp;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) noexcept {
  constexpr uint32_t kKnown = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                              IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  const bool has_flags = (init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
  const uint32_t flags = has_flags ? init->create_flags : 0;
  const bool builds = (init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if ((init->comp_mask & ~kKnown) != 0) return fail(EOPNOTSUPP);
  if (builds) {
    int wrong = check_send_operations(init->qp_type, init->send_ops_flags, library().qp_layout);
    if (wrong != 0) return fail(wrong);
  }
  if ((flags & ~uint32_t{IBV_QP_CREATE_BLOCK_SELF_MCAST_LB}) != 0) return fail(EOPNOTSUPP);
  if (flags != 0 && init->qp_type != IBV_QPT_UD) return fail(EINVAL);
  ibv_qp_init_attr_ex used = *init;
  if ((used.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) used.pd = nullptr;
  if ((used.comp_mask & IBV_QP_INIT_ATTR_XRCD) == 0) used.xrcd = nullptr;
  used = meaningful(used);
  if (builds) {
    const uint32_t kept = inline_bytes_for(init->send_ops_flags);
    used.cap.max_inline_data = std::max(used.cap.max_inline_data, kept);
  }
  ibv_qp* qp = create(context, used);
  if (qp == nullptr) return nullptr;
  init->cap = used.cap;
  // An XRC target has no protection domain, but librdmacm reads the one that it gave from the
  // handle, to make a shared receive queue.
  if ((init->comp_mask & IBV_QP_INIT_ATTR_PD) != 0) qp->pd = init->pd;
  qp_of(qp).queue_pair->blocks_own_multicast = flags != 0;
  if (builds) set_send_operations(qp_of(qp), init->send_ops_flags, library().qp_layout);
  return qp;
}

}  // namespace urxe
