// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/handles.h"

#include "provider/verbs/verbs.h"

namespace urxe {

uint32_t next_handle_number() {
  static constinit std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

int check_handle(const ibv_context* /*context*/) {
  return 0;  // libibverbs has found the operation through it
}

int check_handle(ibv_pd* pd) {
  return check_mark(pd_of(pd), pd->context, pd->handle);
}

int check_handle(ibv_td* td) {
  return check_mark(td_of(td), td->context, td_of(td).mark.number);
}

int check_handle(abi::VerbsMr* mr) {
  const int wrong = check_mark(mr_of(mr), mr->mr.context, mr->mr.handle);
  return wrong == 0 && mr_of(mr).region == nullptr ? EOPNOTSUPP : wrong;
}

int check_handle(ibv_mw* mw) {
  return check_mark(mw_of(mw), mw->context, mw->handle);
}

int check_handle(ibv_dm* dm) {
  return check_mark(dm_of(dm), dm->context, dm->handle);
}

int check_handle(ibv_ah* ah) {
  return check_mark(ah_of(ah), ah->context, ah->handle);
}

int check_handle(ibv_cq* cq) {
  return check_mark(cq_of(cq), cq->context, cq->handle);
}

int check_handle(ibv_srq* srq) {
  return check_mark(srq_of(srq), srq->context, srq->handle);
}

int check_handle(ibv_xrcd* xrcd) {
  return check_mark(xrcd_of(xrcd), xrcd->context, xrcd_of(xrcd).handle);
}

int check_handle(ibv_qp* qp) {
  return check_mark(qp_of(qp), qp->context, qp->handle);
}

int check_handle(abi::CompCntr* counter) {
  return check_mark(comp_cntr_of(counter), counter->context, counter->handle);
}

int check_handle(ibv_flow* flow) {
  return check_mark(flow_of(flow), flow->context, flow->handle);
}

}  // namespace urxe
