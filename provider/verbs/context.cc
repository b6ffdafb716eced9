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
#include "provider/verbs/entry.h"
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
    report_lack("open a device", errno);
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
    context->handle = &block->verbs.context;
    block->self = context.release();
    return &block->verbs;
  } catch (const std::bad_alloc&) {
    report_lack("open a device", ENOMEM);
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
    ops.advise_mr = Entry<advise_mr>::checking;
    ops.alloc_dm = Entry<alloc_dm>::checking;
    ops.alloc_mw = Entry<alloc_mw>::checking;
    ops.alloc_null_mr = Entry<alloc_null_mr>::checking;
    ops.alloc_parent_domain = Entry<alloc_parent_domain>::checking;
    ops.alloc_pd = Entry<alloc_pd>::checking;
    ops.alloc_td = Entry<alloc_td>::checking;
    ops.attach_mcast = Entry<attach_mcast>::checking;
    ops.bind_mw = Entry<bind_mw>::checking;
    ops.close_xrcd = Entry<close_xrcd>::checking;
    ops.create_ah = Entry<create_ah>::checking;
    ops.create_cq = Entry<create_cq>::checking;
    ops.create_cq_ex = Entry<create_cq_ex>::checking;
    ops.create_qp = Entry<create_qp>::checking;
    ops.create_qp_ex = Entry<create_qp_ex>::checking;
    ops.create_srq = Entry<create_srq>::checking;
    ops.create_srq_ex = Entry<create_srq_ex>::checking;
    ops.dealloc_mw = Entry<dealloc_mw>::checking;
    ops.dealloc_pd = Entry<dealloc_pd>::checking;
    ops.dealloc_td = Entry<dealloc_td>::checking;
    ops.dereg_mr = Entry<dereg_mr>::checking;
    ops.destroy_ah = Entry<destroy_ah>::checking;
    ops.detach_mcast = Entry<detach_mcast>::checking;
    ops.destroy_cq = Entry<destroy_cq>::checking;
    ops.destroy_qp = Entry<destroy_qp>::checking;
    ops.destroy_srq = Entry<destroy_srq>::checking;
    ops.free_context = free_context;
    ops.free_dm = Entry<free_dm>::checking;
    ops.get_srq_num = Entry<get_srq_num>::checking;
    ops.modify_cq = Entry<modify_cq>::checking;
    ops.modify_qp = Entry<modify_qp>::checking;
    ops.modify_qp_rate_limit = Entry<modify_qp_rate_limit>::checking;
    ops.modify_srq = Entry<modify_srq>::checking;
    ops.open_qp = Entry<open_qp>::checking;
    ops.open_xrcd = Entry<open_xrcd>::checking;
    ops.poll_cq = poll_cq;
    ops.post_recv = Entry<post_recv>::reporting;
    ops.post_send = Entry<post_send>::reporting;
    ops.post_srq_recv = Entry<post_srq_recv>::reporting;
    ops.query_device_ex = Entry<query_device>::checking;
    ops.query_ece = Entry<query_ece>::checking;
    ops.query_port = Entry<query_port>::checking;
    ops.query_qp = Entry<query_qp>::checking;
    ops.query_rt_values = Entry<query_rt_values>::checking;
    ops.query_srq = Entry<query_srq>::checking;
    ops.reg_dm_mr = Entry<reg_dm_mr>::checking;
    ops.reg_dmabuf_mr = Entry<reg_dmabuf_mr>::checking;
    ops.reg_mr = Entry<reg_mr>::checking;
    ops.req_notify_cq = Entry<req_notify_cq>::reporting;
    ops.rereg_mr = Entry<rereg_mr>::checking;
    ops.resize_cq = Entry<resize_cq>::checking;
    ops.set_ece = Entry<set_ece>::checking;
    return ops;
  }();
  return kOps;
}

}  // namespace urxe
