// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/objects.h"

namespace urxe {

/// Takes the events of all devices. `user` of a queue is its Cq, Srq or Qp.
extern const EventSink kVerbsEventSink;

// The verbs, each in the file named after its object. Those that return a pointer set errno.
int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attr, size_t attr_size) noexcept;
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) noexcept;
int query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed) noexcept;

ibv_pd* alloc_pd(ibv_context* context) noexcept;
int dealloc_pd(ibv_pd* pd) noexcept;
/// Whether two handles are of one protection domain.
bool same_domain(ibv_pd* a, ibv_pd* b);
ibv_pd* import_pd(ibv_context* context, uint32_t number) noexcept;
void unimport_pd(ibv_pd* pd) noexcept;
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) noexcept;
int dealloc_td(ibv_td* td) noexcept;
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) noexcept;

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) noexcept;
int destroy_ah(ibv_ah* ah) noexcept;
/// Claims the source port that the address handle needs to send. 0, or an errno and a line on
/// stderr. With the device's lock held, after its start.
int prepare(Ah& ah, Lane& lane);
/// Makes the request a datagram. EINVAL: the address handle is of another protection domain
/// (IBTA vol. 1, 10.2.2.1), or has no source port because prepare() failed.
int set_datagram(const Qp& qp, SendWqe& wqe, const ibv_ah* ah, uint32_t remote_qpn,
                 uint32_t remote_qkey);

ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) noexcept;
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                      int access) noexcept;
ibv_mr* reg_mr_ex(ibv_pd* pd, abi::MrInitAttr* init) noexcept;
int rereg_mr(abi::VerbsMr* mr, int flags, ibv_pd* pd, void* addr, size_t length,
             int access) noexcept;
int dereg_mr(abi::VerbsMr* mr) noexcept;
ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept;
ibv_mr* import_mr(ibv_pd* pd, uint32_t number) noexcept;
void unimport_mr(ibv_mr* mr) noexcept;
/// Before a context can be imported. False: the preloaded object is of another release.
bool take_commands();
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list,
              uint32_t count) noexcept;

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept;
ibv_dm* import_dm(ibv_context* context, uint32_t number) noexcept;
void unimport_dm(ibv_dm* dm) noexcept;
int free_dm(ibv_dm* dm) noexcept;
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned access) noexcept;

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept;
int dealloc_mw(ibv_mw* mw) noexcept;
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) noexcept;
bool bind_info_is_valid(const ibv_mw_bind_info& info);
/// The request to bind `mw` as `info` says; the window has `new_key` afterwards.
BindRequest bind_request(const Mw& mw, RKey new_key, const ibv_mw_bind_info& info);

int query_comp_cntr_caps(ibv_context* context, abi::CompCntrCaps* caps, size_t size) noexcept;
abi::CompCntr* create_comp_cntr(ibv_context* context, abi::CompCntrInitAttr* init) noexcept;
int destroy_comp_cntr(abi::CompCntr* counter) noexcept;
int set_comp_cntr(abi::CompCntr* counter, uint64_t value) noexcept;
int set_err_comp_cntr(abi::CompCntr* counter, uint64_t value) noexcept;
int inc_comp_cntr(abi::CompCntr* counter, uint64_t amount) noexcept;
int inc_err_comp_cntr(abi::CompCntr* counter, uint64_t amount) noexcept;
int read_comp_cntr(abi::CompCntr* counter, uint64_t* value) noexcept;
int read_err_comp_cntr(abi::CompCntr* counter, uint64_t* value) noexcept;
int qp_attach_comp_cntr(ibv_qp* qp, abi::CompCntr* counter,
                        abi::QpAttachCompCntrAttr* attr) noexcept;
/// The queue pair has ended. With the device's lock held, also end_comp_cntr().
void detach_comp_cntrs(Qp& qp);
void end_comp_cntr(CompCntr& counter);

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                  int comp_vector) noexcept;
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) noexcept;
/// Sets the functions of the extended polling interface.
void set_extended_operations(ibv_cq_ex& cq);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept;
int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept;
int resize_cq(ibv_cq* cq, int cqe) noexcept;
int destroy_cq(ibv_cq* cq) noexcept;
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) noexcept;
int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept;

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init) noexcept;
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init) noexcept;
int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) noexcept;
int query_srq(ibv_srq* srq, ibv_srq_attr* attr) noexcept;
int get_srq_num(ibv_srq* srq, uint32_t* number) noexcept;
int destroy_srq(ibv_srq* srq) noexcept;
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) noexcept;
int close_xrcd(ibv_xrcd* xrcd) noexcept;
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) noexcept;

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* init) noexcept;
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) noexcept;
/// Whether queue pairs of that type have all these (ibv_qp_create_send_ops_flags), in a library
/// with that layout; else EOPNOTSUPP.
int check_send_operations(ibv_qp_type type, uint64_t flags, const QpLayout& layout);
/// Bytes of inline data that an element needs for these operations.
uint32_t inline_bytes_for(uint64_t send_operations);
/// Sets the builders of these operations (ibv_wr_post(3)).
void set_send_operations(Qp& qp, uint64_t flags, const QpLayout& layout);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) noexcept;
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) noexcept;
int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attr) noexcept;
int destroy_qp(ibv_qp* qp) noexcept;
int attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) noexcept;
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) noexcept;
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attr) noexcept;
int destroy_flow(ibv_flow* flow) noexcept;
int set_ece(ibv_qp* qp, ibv_ece* ece) noexcept;
int query_ece(ibv_qp* qp, ibv_ece* ece) noexcept;
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept;
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;
/// Tells the device that something was posted.
void ring(Qp& qp);

// End an object: all but freeing its handle. Closing a context calls these for the objects that are
// left. With the device's lock held.
void end_flow(SteeringFlow& flow);
/// No other thread polls its completion queues meanwhile.
void end_qp(Qp& qp);
int end_srq(Srq& srq);
void end_xrcd(Xrcd& xrcd);
/// Detaches it from its multicast groups.
void leave_groups(Qp& qp);
[[nodiscard]] bool is_in_group(const Qp& qp);
int end_cq(Cq& cq);
void end_ah(Ah& ah);
void end_mw(Mw& mw);
void end_mr(Mr& mr);
void end_dm(Dm& dm);
void end_pd(Pd& pd);

}  // namespace urxe
