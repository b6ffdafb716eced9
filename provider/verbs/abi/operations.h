// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "provider/verbs/abi/private_abi.h"

// Of later releases than the headers may be.
struct ibv_buf;
struct ibv_dmah;
struct ibv_dmah_init_attr;

namespace urxe::abi {

/// ibv_mr_init_attr, without the member `buf` of rdma-core 64.
struct MrInitAttr {
  // Bits of comp_mask.
  static constexpr uint64_t kIova = 1;
  static constexpr uint64_t kAddr = 2;
  static constexpr uint64_t kFd = 4;
  static constexpr uint64_t kFdOffset = 8;
  static constexpr uint64_t kKnown = kIova | kAddr | kFd | kFdOffset;

  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  ibv_dmah* dmah;
};

/// ibv_comp_cntr, also the next three, of rdma-core 65.
struct CompCntr {
  ibv_context* context;
  uint32_t handle;
};
struct CompCntrCaps {
  uint64_t max_value;
  uint32_t max_counters;
  uint32_t supported_qp_attach_ops;
};
struct CompCntrInitAttr {
  uint32_t comp_mask;
  uint32_t type;
  uint32_t flags;
};
struct QpAttachCompCntrAttr {
  uint32_t comp_mask;
  uint32_t op_mask;
};
static_assert(sizeof(CompCntr) == 16 && sizeof(CompCntrCaps) == 16);
static_assert(sizeof(CompCntrInitAttr) == 12 && sizeof(QpAttachCompCntrAttr) == 8);

/// All operations of a provider, in the order of rdma-core 65. Every release has some of them, in
/// the same order, and takes a null member for one that is not supported.
struct VerbsContextOps {
  int (*advise_mr)(ibv_pd*, ibv_advise_mr_advice, uint32_t, ibv_sge*, uint32_t);
  void* (*alloc_buf)(ibv_pd*, size_t, ibv_buf**);
  ibv_dm* (*alloc_dm)(ibv_context*, ibv_alloc_dm_attr*);
  ibv_dmah* (*alloc_dmah)(ibv_context*, ibv_dmah_init_attr*);
  ibv_mw* (*alloc_mw)(ibv_pd*, ibv_mw_type);
  ibv_mr* (*alloc_null_mr)(ibv_pd*);
  ibv_pd* (*alloc_parent_domain)(ibv_context*, ibv_parent_domain_init_attr*);
  ibv_pd* (*alloc_pd)(ibv_context*);
  ibv_td* (*alloc_td)(ibv_context*, ibv_td_init_attr*);
  void (*async_event)(ibv_context*, ibv_async_event*);
  int (*attach_counters_point_flow)(ibv_counters*, ibv_counter_attach_attr*, ibv_flow*);
  int (*attach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  int (*bind_mw)(ibv_qp*, ibv_mw*, ibv_mw_bind*);
  int (*close_xrcd)(ibv_xrcd*);
  void (*cq_event)(ibv_cq*);
  ibv_ah* (*create_ah)(ibv_pd*, ibv_ah_attr*);
  CompCntr* (*create_comp_cntr)(ibv_context*, CompCntrInitAttr*);
  ibv_counters* (*create_counters)(ibv_context*, ibv_counters_init_attr*);
  ibv_cq* (*create_cq)(ibv_context*, int, ibv_comp_channel*, int);
  ibv_cq_ex* (*create_cq_ex)(ibv_context*, ibv_cq_init_attr_ex*);
  ibv_flow* (*create_flow)(ibv_qp*, ibv_flow_attr*);
  ibv_flow_action* (*create_flow_action_esp)(ibv_context*, ibv_flow_action_esp_attr*);
  ibv_qp* (*create_qp)(ibv_pd*, ibv_qp_init_attr*);
  ibv_qp* (*create_qp_ex)(ibv_context*, ibv_qp_init_attr_ex*);
  ibv_rwq_ind_table* (*create_rwq_ind_table)(ibv_context*, ibv_rwq_ind_table_init_attr*);
  ibv_srq* (*create_srq)(ibv_pd*, ibv_srq_init_attr*);
  ibv_srq* (*create_srq_ex)(ibv_context*, ibv_srq_init_attr_ex*);
  ibv_wq* (*create_wq)(ibv_context*, ibv_wq_init_attr*);
  int (*dealloc_dmah)(ibv_dmah*);
  int (*dealloc_mw)(ibv_mw*);
  int (*dealloc_pd)(ibv_pd*);
  int (*dealloc_td)(ibv_td*);
  int (*dereg_mr)(VerbsMr*);
  int (*destroy_ah)(ibv_ah*);
  int (*destroy_comp_cntr)(CompCntr*);
  int (*destroy_counters)(ibv_counters*);
  int (*destroy_cq)(ibv_cq*);
  int (*destroy_flow)(ibv_flow*);
  int (*destroy_flow_action)(ibv_flow_action*);
  int (*destroy_qp)(ibv_qp*);
  int (*destroy_rwq_ind_table)(ibv_rwq_ind_table*);
  int (*destroy_srq)(ibv_srq*);
  int (*destroy_wq)(ibv_wq*);
  int (*detach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  int (*dm_export_dmabuf_fd)(ibv_dm*);
  void (*free_buf)(ibv_buf*);
  void (*free_context)(ibv_context*);
  int (*free_dm)(ibv_dm*);
  int (*get_srq_num)(ibv_srq*, uint32_t*);
  ibv_dm* (*import_dm)(ibv_context*, uint32_t);
  ibv_mr* (*import_mr)(ibv_pd*, uint32_t);
  ibv_pd* (*import_pd)(ibv_context*, uint32_t);
  int (*inc_comp_cntr)(CompCntr*, uint64_t);
  int (*inc_err_comp_cntr)(CompCntr*, uint64_t);
  int (*modify_cq)(ibv_cq*, ibv_modify_cq_attr*);
  int (*modify_flow_action_esp)(ibv_flow_action*, ibv_flow_action_esp_attr*);
  int (*modify_qp)(ibv_qp*, ibv_qp_attr*, int);
  int (*modify_qp_rate_limit)(ibv_qp*, ibv_qp_rate_limit_attr*);
  int (*modify_srq)(ibv_srq*, ibv_srq_attr*, int);
  int (*modify_wq)(ibv_wq*, ibv_wq_attr*);
  ibv_qp* (*open_qp)(ibv_context*, ibv_qp_open_attr*);
  ibv_xrcd* (*open_xrcd)(ibv_context*, ibv_xrcd_init_attr*);
  int (*poll_cq)(ibv_cq*, int, ibv_wc*);
  int (*post_recv)(ibv_qp*, ibv_recv_wr*, ibv_recv_wr**);
  int (*post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);
  int (*post_srq_ops)(ibv_srq*, ibv_ops_wr*, ibv_ops_wr**);
  int (*post_srq_recv)(ibv_srq*, ibv_recv_wr*, ibv_recv_wr**);
  int (*qp_attach_comp_cntr)(ibv_qp*, CompCntr*, QpAttachCompCntrAttr*);
  int (*query_comp_cntr_caps)(ibv_context*, CompCntrCaps*, size_t);
  int (*query_device_ex)(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*,
                         size_t);
  int (*query_ece)(ibv_qp*, ibv_ece*);
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  int (*query_port_speed)(ibv_context*, uint32_t, uint64_t*);
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
  int (*query_qp_data_in_order)(ibv_qp*, ibv_wr_opcode, uint32_t);
  int (*query_rt_values)(ibv_context*, ibv_values_ex*);
  int (*query_srq)(ibv_srq*, ibv_srq_attr*);
  int (*read_comp_cntr)(CompCntr*, uint64_t*);
  int (*read_counters)(ibv_counters*, uint64_t*, uint32_t, uint32_t);
  int (*read_err_comp_cntr)(CompCntr*, uint64_t*);
  ibv_mr* (*reg_dm_mr)(ibv_pd*, ibv_dm*, uint64_t, size_t, unsigned int);
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, uint64_t, int);
  ibv_mr* (*reg_mr_ex)(ibv_pd*, MrInitAttr*);
  int (*req_notify_cq)(ibv_cq*, int);
  int (*rereg_mr)(VerbsMr*, int, ibv_pd*, void*, size_t, int);
  int (*resize_cq)(ibv_cq*, int);
  int (*set_comp_cntr)(CompCntr*, uint64_t);
  int (*set_ece)(ibv_qp*, ibv_ece*);
  int (*set_err_comp_cntr)(CompCntr*, uint64_t);
  void (*unimport_dm)(ibv_dm*);
  void (*unimport_mr)(ibv_mr*);
  void (*unimport_pd)(ibv_pd*);
};

constexpr size_t kOperations = 93;
static_assert(sizeof(VerbsContextOps) == kOperations * sizeof(void*));

/// The operations in the order of one release, for verbs_set_ops().
using OperationTable = std::array<void*, kOperations>;

/// `release`: of rdma-core, 36 to 65.
OperationTable make_operation_table(const VerbsContextOps& operations, int release);

}  // namespace urxe::abi
