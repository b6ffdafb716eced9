// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "packet/base/intrusive_list.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/verbs/handles.h"
#include "provider/verbs/private_abi.h"

namespace urxe {

struct Pd;
struct Mr;
struct Dm;
struct Mw;
struct Ah;
struct Cq;
struct Srq;
struct Xrcd;
struct Qp;

/// An open device of the application: the object behind an ibv_context. The lists hold the live
/// objects, under the device's lock; closing the context ends those that the application has not
/// destroyed.
class Context {
 public:
  Context(std::shared_ptr<RuntimeDevice> device, std::shared_ptr<EventSocket> async_events);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] RuntimeDevice& device() const { return *device_; }
  [[nodiscard]] Progress& progress() const { return device_->progress(); }
  [[nodiscard]] bool is_forked() const { return device_->is_forked(); }
  [[nodiscard]] const std::shared_ptr<EventSocket>& async_events() const { return async_events_; }

  IntrusiveList<Pd, struct PdTag> pds;
  IntrusiveList<Mr, struct MrTag> mrs;
  IntrusiveList<Dm, struct DmTag> dms;
  IntrusiveList<Mw, struct MwTag> mws;
  IntrusiveList<Ah, struct AhTag> ahs;
  IntrusiveList<Cq, struct CqTag> cqs;
  IntrusiveList<Xrcd, struct XrcdTag> xrcds;
  IntrusiveList<Srq, struct SrqTag> srqs;
  IntrusiveList<Qp, struct QpTag> qps;
  bool sends_datagrams = false;  ///< has had a UD queue pair
  ibv_context* handle = nullptr;
  RetiredHandles retired;

 private:
  std::shared_ptr<RuntimeDevice> device_;
  std::shared_ptr<EventSocket> async_events_;
};

/// The memory that libibverbs allocates for a context.
struct ContextBlock {
  Context* self;
  verbs_context verbs;
};

inline Context& context_of(ibv_context* context) {
  constexpr size_t kOffset = offsetof(ContextBlock, verbs) + offsetof(verbs_context, context);
  return *reinterpret_cast<ContextBlock*>(reinterpret_cast<char*>(context) - kOffset)->self;
}

/// verbs_device_ops::alloc_context
verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* private_data) noexcept;
/// verbs_context_ops::free_context
void free_context(ibv_context* context) noexcept;

/// The operations of a context.
const abi::VerbsContextOps& context_ops();

}  // namespace urxe
