// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The private ABI between libibverbs and its providers: version 34, rdma-core 36 to 56. It is
/// declared nowhere else in this project. What differs between these releases is found when the
/// provider is loaded (qp_layout.h).

#include <infiniband/verbs.h>
#include <sys/types.h>
#include <time.h>

#include <cstddef>
#include <cstdint>

namespace urxe::abi {

struct ListNode {
  ListNode* next;
  ListNode* prev;
};

struct VerbsMatchEnt {
  void* driver_data;
  union {
    const char* modalias;
    uint64_t driver_id;
  } u;
  uint16_t vendor;
  uint16_t device;
  uint8_t kind;
};

/// A device as libibverbs found it in sysfs.
struct VerbsSysfsDev {
  ListNode entry;
  void* provider_data;
  const VerbsMatchEnt* match;
  unsigned flags;
  char sysfs_name[IBV_SYSFS_NAME_MAX];
  dev_t sysfs_cdev;
  char ibdev_name[IBV_SYSFS_NAME_MAX];
  char ibdev_path[IBV_SYSFS_PATH_MAX];
  char modalias[512];
  uint64_t node_guid;
  uint32_t driver_id;
  ibv_node_type node_type;
  int ibdev_idx;
  uint32_t num_ports;
  uint32_t abi_ver;
  timespec time_created;
};

struct VerbsDeviceOps;

struct VerbsDevice {
  ibv_device device;
  const VerbsDeviceOps* ops;
  int refcount;  ///< libibverbs' atomic_int
  ListNode entry;
  VerbsSysfsDev* sysfs;
  uint64_t core_support;
};

struct VerbsDeviceOps {
  const char* name;
  uint32_t match_min_abi_version;
  uint32_t match_max_abi_version;
  const VerbsMatchEnt* match_table;
  const VerbsDeviceOps** static_providers;
  bool (*match_device)(VerbsSysfsDev*);
  verbs_context* (*alloc_context)(ibv_device*, int cmd_fd, void* private_data);
  verbs_context* (*import_context)(ibv_device*, int cmd_fd);
  VerbsDevice* (*alloc_device)(VerbsSysfsDev*);
  void (*uninit_device)(VerbsDevice*);
};

enum MrType : int { kMr, kNullMr, kImportedMr, kDmaBufMr };

struct VerbsMr {
  ibv_mr mr;
  MrType mr_type;
  int access;
};

struct VerbsCq {
  union {
    ibv_cq cq;
    ibv_cq_ex cq_ex;
  };
};

struct VerbsXrcd {
  ibv_xrcd xrcd;
  uint32_t comp_mask;
  uint32_t handle;
};

/// A queue pair, with room for the members of all releases. The library's flags, and of the members
/// of ibv_qp_ex the last, lie where QpLayout says.
struct VerbsQp {
  static constexpr size_t kRoom = 512;
  union {
    ibv_qp qp;
    ibv_qp_ex qp_ex;
    alignas(8) unsigned char bytes[kRoom];
  };
};

struct VerbsSrq {
  ibv_srq srq;
  ibv_srq_type srq_type;
  VerbsXrcd* xrcd;
  ibv_cq* cq;
  uint32_t srq_num;
};

/// A provider's operations, in the library's order. A null member returns EOPNOTSUPP.
struct VerbsContextOps {
  int (*advise_mr)(ibv_pd*, ibv_advise_mr_advice, uint32_t, ibv_sge*, uint32_t);
  ibv_dm* (*alloc_dm)(ibv_context*, ibv_alloc_dm_attr*);
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
  int (*dealloc_mw)(ibv_mw*);
  int (*dealloc_pd)(ibv_pd*);
  int (*dealloc_td)(ibv_td*);
  int (*dereg_mr)(VerbsMr*);
  int (*destroy_ah)(ibv_ah*);
  int (*destroy_counters)(ibv_counters*);
  int (*destroy_cq)(ibv_cq*);
  int (*destroy_flow)(ibv_flow*);
  int (*destroy_flow_action)(ibv_flow_action*);
  int (*destroy_qp)(ibv_qp*);
  int (*destroy_rwq_ind_table)(ibv_rwq_ind_table*);
  int (*destroy_srq)(ibv_srq*);
  int (*destroy_wq)(ibv_wq*);
  int (*detach_mcast)(ibv_qp*, const ibv_gid*, uint16_t);
  void (*free_context)(ibv_context*);
  int (*free_dm)(ibv_dm*);
  int (*get_srq_num)(ibv_srq*, uint32_t*);
  ibv_dm* (*import_dm)(ibv_context*, uint32_t);
  ibv_mr* (*import_mr)(ibv_pd*, uint32_t);
  ibv_pd* (*import_pd)(ibv_context*, uint32_t);
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
  int (*query_device_ex)(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex*,
                         size_t);
  int (*query_ece)(ibv_qp*, ibv_ece*);
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  int (*query_qp)(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
  int (*query_qp_data_in_order)(ibv_qp*, ibv_wr_opcode, uint32_t);
  int (*query_rt_values)(ibv_context*, ibv_values_ex*);
  int (*query_srq)(ibv_srq*, ibv_srq_attr*);
  int (*read_counters)(ibv_counters*, uint64_t*, uint32_t, uint32_t);
  ibv_mr* (*reg_dm_mr)(ibv_pd*, ibv_dm*, uint64_t, size_t, unsigned int);
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t, size_t, uint64_t, int, int);
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, uint64_t, int);
  int (*req_notify_cq)(ibv_cq*, int);
  int (*rereg_mr)(VerbsMr*, int, ibv_pd*, void*, size_t, int);
  int (*resize_cq)(ibv_cq*, int);
  int (*set_ece)(ibv_qp*, ibv_ece*);
  void (*unimport_dm)(ibv_dm*);
  void (*unimport_mr)(ibv_mr*);
  void (*unimport_pd)(ibv_pd*);
};

/// verbs_register_driver_34
using RegisterDriver = void (*)(const VerbsDeviceOps*);
/// _verbs_init_and_alloc_context: zeroed memory of `size` bytes with a verbs_context at an offset,
/// which is passed as a pointer. Takes over `cmd_fd`.
using InitAndAllocContext = void* (*)(ibv_device*, int cmd_fd, size_t size,
                                      verbs_context* offset_of_member, uint32_t driver_id);
/// verbs_set_ops
using SetOps = void (*)(verbs_context*, const VerbsContextOps*);
/// verbs_uninit_context: closes the context's descriptors; the memory is the provider's to free.
using UninitContext = void (*)(verbs_context*);

#if defined(__x86_64__)
static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(ibv_context) == 328 && sizeof(verbs_context) == 648);
static_assert(offsetof(verbs_context, sz) == 312 && offsetof(verbs_context, context) == 320);
static_assert(sizeof(VerbsMatchEnt) == 24 && offsetof(VerbsMatchEnt, kind) == 20);
static_assert(offsetof(VerbsSysfsDev, sysfs_name) == 36);
static_assert(offsetof(VerbsSysfsDev, sysfs_cdev) == 104);
static_assert(offsetof(VerbsSysfsDev, ibdev_name) == 112);
static_assert(offsetof(VerbsSysfsDev, ibdev_path) == 176);
static_assert(offsetof(VerbsSysfsDev, modalias) == 432);
static_assert(offsetof(VerbsSysfsDev, node_guid) == 944);
static_assert(offsetof(VerbsSysfsDev, abi_ver) == 968);
static_assert(sizeof(VerbsSysfsDev) == 992);
static_assert(offsetof(VerbsDevice, ops) == 664 && offsetof(VerbsDevice, refcount) == 672);
static_assert(offsetof(VerbsDevice, entry) == 680 && offsetof(VerbsDevice, sysfs) == 696);
static_assert(sizeof(VerbsDevice) == 712);
static_assert(offsetof(VerbsDeviceOps, match_table) == 16);
static_assert(offsetof(VerbsDeviceOps, match_device) == 32);
static_assert(offsetof(VerbsDeviceOps, uninit_device) == 64 && sizeof(VerbsDeviceOps) == 72);
static_assert(offsetof(VerbsMr, mr_type) == 48 && sizeof(VerbsMr) == 56);
static_assert(sizeof(VerbsCq) == 288);
static_assert(sizeof(VerbsXrcd) == 16);
static_assert(sizeof(ibv_qp) == 160 && sizeof(VerbsQp) == VerbsQp::kRoom);
static_assert(sizeof(ibv_qp_ex) < VerbsQp::kRoom && offsetof(ibv_qp_ex, wr_atomic_write) == 344);
static_assert(offsetof(VerbsSrq, xrcd) == 136 && sizeof(VerbsSrq) == 160);
static_assert(sizeof(VerbsContextOps) == 76 * sizeof(void*));
static_assert(offsetof(VerbsContextOps, advise_mr) == 0);
static_assert(offsetof(VerbsContextOps, alloc_pd) == 5 * 8);
static_assert(offsetof(VerbsContextOps, poll_cq) == 53 * 8);
static_assert(offsetof(VerbsContextOps, unimport_pd) == 75 * 8);
#endif

}  // namespace urxe::abi
