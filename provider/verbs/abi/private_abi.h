// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The private ABI between libibverbs and its providers: versions 34, 57, 59, 64 and 65, rdma-core
/// 36 to 65. It is declared nowhere else in this project, and never taken from the headers that the
/// provider is built with. What is declared here is the same in all of these releases; what differs
/// is found when the provider is loaded (library.h).

#include <infiniband/verbs.h>
#include <pthread.h>
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

/// A queue pair, with room for the members of all releases. QpLayout says where the last members of
/// ibv_qp_ex and the library's flags lie.
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

/// verbs_register_driver_NN
using RegisterDriver = void (*)(const VerbsDeviceOps*);
/// _verbs_init_and_alloc_context: zeroed memory of `size` bytes with a verbs_context at an offset,
/// which is passed as a pointer. Takes over `cmd_fd`.
using InitAndAllocContext = void* (*)(ibv_device*, int cmd_fd, size_t size,
                                      verbs_context* offset_of_member, uint32_t driver_id);
/// verbs_set_ops: takes over the members of an OperationTable that are not null.
using SetOps = void (*)(verbs_context*, const void*);
/// verbs_uninit_context: closes the context's descriptors; the memory is the provider's to free.
using UninitContext = void (*)(verbs_context*);

// Of 64-bit machines. ibv_context, ibv_cq, ibv_qp and ibv_srq contain a mutex and a condition
// variable, whose bytes the C library chooses by the machine.
constexpr size_t kLockBytes = sizeof(pthread_mutex_t);
constexpr size_t kLockAndSignalBytes = kLockBytes + sizeof(pthread_cond_t);
static_assert(sizeof(void*) == 8, "the layouts below are those of 64-bit machines");
static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(ibv_context) == 288 + kLockBytes);
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
static_assert(sizeof(VerbsCq) == 200 + kLockAndSignalBytes);
static_assert(sizeof(VerbsXrcd) == 16);
static_assert(sizeof(ibv_qp) == 72 + kLockAndSignalBytes && sizeof(VerbsQp) == VerbsQp::kRoom);
static_assert(sizeof(ibv_qp_ex) < VerbsQp::kRoom);
static_assert(offsetof(ibv_qp_ex, wr_atomic_write) == sizeof(ibv_qp) + 184);
static_assert(offsetof(VerbsSrq, xrcd) == 48 + kLockAndSignalBytes);
static_assert(sizeof(VerbsSrq) == 72 + kLockAndSignalBytes);

}  // namespace urxe::abi
