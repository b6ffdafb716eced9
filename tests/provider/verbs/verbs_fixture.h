// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <vector>

#include "provider/verbs/context.h"
#include "provider/verbs/objects.h"

namespace urxe::test {

inline abi::VerbsMr* verbs_mr(ibv_mr* mr) {
  return reinterpret_cast<abi::VerbsMr*>(mr);
}

/// What is not destroyed ends with its context, but its memory stays, because an application may
/// still have the handle. Here a leak checker finds it.
template <class Handle>
Handle* kept(Handle* handle) {
  static auto* const handles = new std::vector<const void*>;
  handles->push_back(handle);
  return handle;
}

/// A context of the loopback interface, as libibverbs would hold it. Calls go through its table of
/// operations; what libibverbs itself sets in the results is set here.
class OpenContext {
 public:
  OpenContext() : device_(std::make_shared<RuntimeDevice>(description())) {
    auto events = EventSocket::create(16, &async_fd_);
    self_ = std::make_unique<Context>(device_, *events);
    self_->handle = &block_.context;
    block_.tail.self = self_.get();
    block_.context.num_comp_vectors = 1;
  }
  ~OpenContext() {
    self_.reset();
    close(async_fd_);
  }
  OpenContext(const OpenContext&) = delete;
  OpenContext& operator=(const OpenContext&) = delete;

  [[nodiscard]] ibv_context* context() { return &block_.context; }
  [[nodiscard]] const abi::VerbsContextOps& ops() const { return context_ops(); }

  ibv_pd* alloc_pd() { return owned(ops().alloc_pd(context())); }
  ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, int access = IBV_ACCESS_LOCAL_WRITE) {
    return owned(ops().reg_mr(pd, addr, length, reinterpret_cast<uintptr_t>(addr), access));
  }
  ibv_cq* create_cq(int entries = 16) {
    ibv_cq* cq = owned(ops().create_cq(context(), entries, nullptr, 0));
    pthread_mutex_init(&cq->mutex, nullptr);
    pthread_cond_init(&cq->cond, nullptr);
    return cq;
  }
  ibv_srq* create_srq(ibv_pd* pd) {
    ibv_srq_init_attr init{.srq_context = nullptr,
                           .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
    return owned(ops().create_srq(pd, &init));
  }
  ibv_qp* create_qp(ibv_pd* pd, ibv_cq* cq, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = type;
    return owned(ops().create_qp(pd, &init));
  }
  ibv_ah* create_ah(ibv_pd* pd) {
    ibv_ah_attr attr{};
    attr.is_global = 1;
    attr.port_num = 1;
    attr.grh.dgid.raw[10] = attr.grh.dgid.raw[11] = 0xff;  // ::ffff:127.0.0.1
    attr.grh.dgid.raw[12] = 127;
    attr.grh.dgid.raw[15] = 1;
    ibv_ah* ah = owned(ops().create_ah(pd, &attr));
    ah->pd = pd;
    return ah;
  }
  ibv_dm* alloc_dm() {
    ibv_alloc_dm_attr attr{.length = 4096, .log_align_req = 0, .comp_mask = 0};
    return owned(ops().alloc_dm(context(), &attr));
  }
  ibv_mw* alloc_mw(ibv_pd* pd) { return owned(ops().alloc_mw(pd, IBV_MW_TYPE_1)); }
  ibv_xrcd* open_xrcd() {
    ibv_xrcd_init_attr attr{.comp_mask = 3, .fd = -1, .oflags = O_CREAT};
    return owned(ops().open_xrcd(context(), &attr));
  }
  ibv_td* alloc_td() {
    ibv_td_init_attr attr{};
    return owned(ops().alloc_td(context(), &attr));
  }

 private:
  template <class Handle>
  Handle* owned(Handle* handle) {
    EXPECT_NE(handle, nullptr) << strerror(errno);
    if (handle != nullptr) handle->context = context();
    return kept(handle);
  }

  static DeviceDescription description() {
    DeviceDescription device;
    device.name = "verbs_test";
    device.ifname = "lo";
    device.ifindex = 1;
    device.mtu = 65536;
    device.node_guid = 0x0200'00ff'fe00'0001ULL;
    constexpr uint8_t kLoopback[4] = {127, 0, 0, 1};
    device.gids = {Gid::from_ipv4(kLoopback)};
    return device;
  }

  std::shared_ptr<RuntimeDevice> device_;
  struct {
    ibv_context context;
    ContextTail tail;
  } block_{};
  int async_fd_ = -1;
  std::unique_ptr<Context> self_;
};

}  // namespace urxe::test
