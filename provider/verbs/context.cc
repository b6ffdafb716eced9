// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/context.h"

#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "provider/runtime/device/device_registry.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/comp_channel.h"
#include "provider/verbs/library.h"
#include "provider/verbs/objects.h"

namespace urxe {
namespace {

static_assert(sizeof(ib_uverbs_async_event_desc) == 16);

std::unique_ptr<Context> make_context(const char* name, int* async_fd) {
  auto device = open_runtime_device(name);
  if (!device) {
    errno = device.error().value;
    return nullptr;
  }
  auto events = EventSocket::create(sizeof(ib_uverbs_async_event_desc), async_fd);
  if (!events) {
    errno = events.error().value;
    return nullptr;
  }
  return std::make_unique<Context>(*std::move(device), *std::move(events));
}

/// The provider owns the context's descriptor even if it makes no context.
void close_keeping_errno(int fd) {
  int saved = errno;
  close(fd);
  errno = saved;
}

}  // namespace

Context::Context(std::shared_ptr<RuntimeDevice> device, std::shared_ptr<EventSocket> async_events)
    : device_(std::move(device)), async_events_(std::move(async_events)) {
  Progress::Guard guard(progress());
  device_->add_listener(async_events_);
}

Context::~Context() {
  if (is_forked()) return;  // the parent's objects
  Progress::Guard guard(progress());
  device_->remove_listener(async_events_);
  while (Qp* qp = qps.front()) end_qp(*qp);
  while (Srq* srq = srqs.front()) {
    if (end_srq(*srq) != 0) srqs.remove(*srq);
  }
  while (Xrcd* xrcd = xrcds.front()) end_xrcd(*xrcd);
  while (Cq* cq = cqs.front()) {
    if (end_cq(*cq) != 0) cqs.remove(*cq);
  }
  while (Ah* ah = ahs.front()) end_ah(*ah);
  while (Mw* mw = mws.front()) end_mw(*mw);
  while (Mr* mr = mrs.front()) end_mr(*mr);
  while (Dm* dm = dms.front()) end_dm(*dm);
  while (Pd* pd = pds.front()) end_pd(*pd);
}

verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* /*private_data*/) noexcept {
  try {
    int async_fd = -1;
    auto context = make_context(device->name, &async_fd);
    if (context == nullptr) {
      close_keeping_errno(cmd_fd);
      return nullptr;
    }
    // The library takes its offset as a pointer.
    auto* offset = reinterpret_cast<verbs_context*>(offsetof(ContextBlock, verbs));
    auto* block = static_cast<ContextBlock*>(
        library().init_and_alloc_context(device, cmd_fd, sizeof(ContextBlock), offset, 0));
    if (block == nullptr) {
      close(async_fd);
      return nullptr;
    }
    block->verbs.context.async_fd = async_fd;
    block->verbs.context.num_comp_vectors = 1;
    library().set_ops(&block->verbs, &context_ops());
    add_channel_source(cmd_fd);
    block->self = context.release();
    return &block->verbs;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void free_context(ibv_context* context) noexcept {
  Context* self = &context_of(context);
  remove_channel_source(context->cmd_fd);
  delete self;
  auto* block = reinterpret_cast<ContextBlock*>(reinterpret_cast<char*>(context) -
                                                offsetof(ContextBlock, verbs) -
                                                offsetof(verbs_context, context));
  library().uninit_context(&block->verbs);
  std::free(block);
}

const abi::VerbsContextOps& context_ops() {
  static constexpr abi::VerbsContextOps kOps = [] {
    abi::VerbsContextOps ops{};
    ops.advise_mr = advise_mr;
    ops.alloc_dm = alloc_dm;
    ops.alloc_mw = alloc_mw;
    ops.alloc_null_mr = alloc_null_mr;
    ops.alloc_parent_domain = alloc_parent_domain;
    ops.alloc_pd = alloc_pd;
    ops.alloc_td = alloc_td;
    ops.attach_mcast = attach_mcast;
    ops.bind_mw = bind_mw;
    ops.close_xrcd = close_xrcd;
    ops.create_ah = create_ah;
    ops.create_cq = create_cq;
    ops.create_cq_ex = create_cq_ex;
    ops.create_qp = create_qp;
    ops.create_qp_ex = create_qp_ex;
    ops.create_srq = create_srq;
    ops.create_srq_ex = create_srq_ex;
    ops.dealloc_mw = dealloc_mw;
    ops.dealloc_pd = dealloc_pd;
    ops.dealloc_td = dealloc_td;
    ops.dereg_mr = dereg_mr;
    ops.destroy_ah = destroy_ah;
    ops.detach_mcast = detach_mcast;
    ops.destroy_cq = destroy_cq;
    ops.destroy_qp = destroy_qp;
    ops.destroy_srq = destroy_srq;
    ops.free_context = free_context;
    ops.free_dm = free_dm;
    ops.get_srq_num = get_srq_num;
    ops.modify_cq = modify_cq;
    ops.modify_qp = modify_qp;
    ops.modify_qp_rate_limit = modify_qp_rate_limit;
    ops.modify_srq = modify_srq;
    ops.open_qp = open_qp;
    ops.open_xrcd = open_xrcd;
    ops.poll_cq = poll_cq;
    ops.post_recv = post_recv;
    ops.post_send = post_send;
    ops.post_srq_recv = post_srq_recv;
    ops.query_device_ex = query_device;
    ops.query_ece = query_ece;
    ops.query_port = query_port;
    ops.query_qp = query_qp;
    ops.query_rt_values = query_rt_values;
    ops.query_srq = query_srq;
    ops.reg_dm_mr = reg_dm_mr;
    ops.reg_dmabuf_mr = reg_dmabuf_mr;
    ops.reg_mr = reg_mr;
    ops.req_notify_cq = req_notify_cq;
    ops.rereg_mr = rereg_mr;
    ops.resize_cq = resize_cq;
    ops.set_ece = set_ece;
    return ops;
  }();
  return kOps;
}

}  // namespace urxe
