// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/context.h"

#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "packet/host/throwing.h"
#include "packet/host/uncancelled.h"
#include "provider/runtime/device/device_registry.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/abi/entry.h"
#include "provider/verbs/abi/library.h"
#include "provider/verbs/completions/comp_channel.h"
#include "provider/verbs/context_table.h"
#include "provider/verbs/verbs.h"

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
  try {
    return std::make_unique<Context>(*std::move(device), *std::move(events));
  } catch (const std::bad_alloc&) {
    close(*async_fd);
    errno = ENOMEM;
    return nullptr;
  }
}

/// The provider owns the context's descriptor even if it makes no context.
void close_keeping_errno(int fd) {
  int saved = errno;
  close(fd);
  errno = saved;
}

/// More than verbs_context takes in any release, for those to come.
constexpr size_t kBlockBytes = 2048;

/// The application's handle, without its Context.
ibv_context* make_handle(ibv_device* device, int cmd_fd) {
  // The library takes the offset of its structure as a pointer.
  void* const memory = library().init_and_alloc_context(device, cmd_fd, kBlockBytes, nullptr, 0);
  if (memory == nullptr) return nullptr;
  auto* const verbs = static_cast<verbs_context*>(memory);
  ibv_context* const handle = find_context(memory, kBlockBytes, device);
  if (handle == nullptr) {
    print_error("a context of this libibverbs has a layout that urxe does not know");
    library().uninit_context(verbs);
    std::free(memory);
    errno = EPROTONOSUPPORT;
    return nullptr;
  }
  tail_of(handle).verbs = verbs;
  const auto table = abi::make_operation_table(context_ops(), library().release);
  library().set_ops(verbs, table.data());
  return handle;
}

/// False: no memory.
bool make_known(Context& context, int cmd_fd) try {
  add_channel_source(cmd_fd, context.device().weak_from_this());
  ContextTable::instance().add(context);
  return true;
} catch (const std::bad_alloc&) {
  remove_channel_source(cmd_fd);
  return false;
}

/// One per processor, as rxe has. Programs spread their queues over the vectors, or use a fixed
/// one. All vectors are equivalent.
int completion_vectors() {
  return static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
}

/// Makes the application's handle of the context. Null and errno: the descriptors are closed.
verbs_context* give_handle(std::unique_ptr<Context> context, ibv_device* device, int cmd_fd,
                           int async_fd) {
  ibv_context* const handle = make_handle(device, cmd_fd);
  if (handle == nullptr) {
    close(async_fd);
    return nullptr;
  }
  handle->async_fd = async_fd;
  handle->num_comp_vectors = completion_vectors();
  context->handle = handle;
  if (!make_known(*context, cmd_fd)) {
    verbs_context* const verbs = tail_of(handle).verbs;
    library().uninit_context(verbs);  // closes both descriptors
    std::free(verbs);
    report_lack("open a device", ENOMEM);
    return fail(ENOMEM);
  }
  tail_of(handle).self = context.release();
  return tail_of(handle).verbs;
}

}  // namespace

Context::Context(std::shared_ptr<RuntimeDevice> device, std::shared_ptr<EventSocket> async_events)
    : device_(std::move(device)), async_events_(std::move(async_events)) {
  RuntimeDevice::Guard guard(*device_);
  number_ = device_->add_context(async_events_);
}

Context::~Context() {
  if (is_forked()) return;  // the parent's objects
  RuntimeDevice::Guard guard(*device_);
  device_->remove_context(number_);
  while (SteeringFlow* flow = flows.front()) end_flow(*flow);
  while (Qp* qp = qps.front()) end_qp(*qp);
  while (CompCntr* counter = comp_cntrs.front()) end_comp_cntr(*counter);
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
  const Uncancelled uncancelled;
  if (!can_throw()) {
    close_keeping_errno(cmd_fd);
    report_lack("open a device", ENOMEM);
    return fail(ENOMEM);
  }
  try {
    int async_fd = -1;
    auto context = make_context(device->name, &async_fd);
    if (context != nullptr) return give_handle(std::move(context), device, cmd_fd, async_fd);
  } catch (const std::bad_alloc&) {
    report_lack("open a device", ENOMEM);
    errno = ENOMEM;
  }
  close_keeping_errno(cmd_fd);
  return nullptr;
}

/// libibverbs looks for the device by the number of its node, which is the same for all of urxe's.
/// So it may be another one than that of the descriptor.
verbs_context* import_context(ibv_device* /*device*/, int cmd_fd) noexcept {
  const Uncancelled uncancelled;
  try {
    if (!take_commands()) return fail(EOPNOTSUPP);
    ibv_device* const device = ContextTable::instance().find_device(cmd_fd);
    if (device == nullptr) return fail(EOPNOTSUPP);
    int async_fd = -1;
    auto context = make_context(device->name, &async_fd);
    if (context == nullptr) return nullptr;
    return give_handle(std::move(context), device, cmd_fd, async_fd);
  } catch (const std::bad_alloc&) {
    report_lack("import a device", ENOMEM);
    return fail(ENOMEM);
  }
}

void free_context(ibv_context* context) noexcept {
  const Uncancelled uncancelled;
  const ContextTail tail = tail_of(context);
  ContextTable::instance().remove(*tail.self);
  remove_channel_source(context->cmd_fd);
  delete tail.self;
  library().uninit_context(tail.verbs);
  std::free(tail.verbs);
}

/// Before the ibv_context, the library writes the bytes of the whole structure, which ends with it.
ibv_context* find_context(void* memory, size_t size, const ibv_device* device) {
  auto* const bytes = static_cast<char*>(memory);
  for (size_t at = sizeof(size_t); at + sizeof(ibv_context) + sizeof(ContextTail) <= size;
       at += sizeof(void*)) {
    size_t written = 0;
    std::memcpy(&written, bytes + at - sizeof written, sizeof written);
    auto* const handle = reinterpret_cast<ibv_context*>(bytes + at);
    if (written == at + sizeof(ibv_context) && handle->device == device) return handle;
  }
  return nullptr;
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
    ops.close_xrcd = Entry<close_xrcd>::on_object;
    ops.create_ah = Entry<create_ah>::checking;
    ops.create_comp_cntr = Entry<create_comp_cntr>::checking;
    ops.create_cq = Entry<create_cq>::checking;
    ops.create_cq_ex = Entry<create_cq_ex>::checking;
    ops.create_flow = Entry<create_flow>::checking;
    ops.create_qp = Entry<create_qp>::checking;
    ops.create_qp_ex = Entry<create_qp_ex>::checking;
    ops.create_srq = Entry<create_srq>::checking;
    ops.create_srq_ex = Entry<create_srq_ex>::checking;
    ops.dealloc_mw = Entry<dealloc_mw>::on_object;
    ops.dealloc_pd = Entry<dealloc_pd>::on_object;
    ops.dealloc_td = Entry<dealloc_td>::on_object;
    ops.dereg_mr = Entry<dereg_mr>::on_object;
    ops.destroy_ah = Entry<destroy_ah>::on_object;
    ops.detach_mcast = Entry<detach_mcast>::on_object;
    ops.destroy_comp_cntr = Entry<destroy_comp_cntr>::on_object;
    ops.destroy_cq = Entry<destroy_cq>::on_object;
    ops.destroy_flow = Entry<destroy_flow>::on_object;
    ops.destroy_qp = Entry<destroy_qp>::on_object;
    ops.destroy_srq = Entry<destroy_srq>::on_object;
    ops.free_context = free_context;
    ops.free_dm = Entry<free_dm>::on_object;
    ops.get_srq_num = Entry<get_srq_num>::checking;
    ops.import_dm = Entry<import_dm>::checking;
    ops.import_mr = Entry<import_mr>::checking;
    ops.import_pd = Entry<import_pd>::checking;
    ops.inc_comp_cntr = Entry<inc_comp_cntr>::checking;
    ops.inc_err_comp_cntr = Entry<inc_err_comp_cntr>::checking;
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
    ops.qp_attach_comp_cntr = Entry<qp_attach_comp_cntr>::checking;
    ops.query_comp_cntr_caps = Entry<query_comp_cntr_caps>::checking;
    ops.query_device_ex = Entry<query_device>::checking;
    ops.query_ece = Entry<query_ece>::checking;
    ops.query_port = Entry<query_port>::checking;
    ops.query_port_speed = Entry<query_port_speed>::checking;
    ops.query_qp = Entry<query_qp>::checking;
    ops.query_rt_values = Entry<query_rt_values>::checking;
    ops.query_srq = Entry<query_srq>::checking;
    ops.read_comp_cntr = Entry<read_comp_cntr>::checking;
    ops.read_err_comp_cntr = Entry<read_err_comp_cntr>::checking;
    ops.reg_dm_mr = Entry<reg_dm_mr>::checking;
    ops.reg_dmabuf_mr = Entry<reg_dmabuf_mr>::checking;
    ops.reg_mr = Entry<reg_mr>::checking;
    ops.reg_mr_ex = Entry<reg_mr_ex>::checking;
    ops.req_notify_cq = Entry<req_notify_cq>::reporting;
    ops.rereg_mr = Entry<rereg_mr>::checking;
    ops.resize_cq = Entry<resize_cq>::checking;
    ops.set_comp_cntr = Entry<set_comp_cntr>::checking;
    ops.set_ece = Entry<set_ece>::checking;
    ops.set_err_comp_cntr = Entry<set_err_comp_cntr>::checking;
    ops.unimport_dm = unimport_dm;
    ops.unimport_mr = unimport_mr;
    ops.unimport_pd = unimport_pd;
    return ops;
  }();
  return kOps;
}

}  // namespace urxe
