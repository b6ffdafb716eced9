// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "packet/base/intrusive_list.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/verbs/abi/operations.h"
#include "provider/verbs/handles.h"

namespace urxe {

struct Pd;
struct Mr;
struct Dm;
struct Mw;
struct Ah;
struct Cq;
struct Srq;
struct Xrcd;
struct CompCntr;
struct Qp;
struct SteeringFlow;

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
  /// Among the device's; observers see it.
  [[nodiscard]] uint32_t number() const { return number_; }
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
  IntrusiveList<SteeringFlow, struct SteeringFlowTag> flows;
  IntrusiveList<CompCntr, struct CompCntrTag> comp_cntrs;
  uint32_t completion_counters = 0;  ///< how many
  uint32_t datagram_lanes = 0;       ///< that have had a UD queue pair, by bits of their numbers
  ibv_context* handle = nullptr;
  RetiredHandles retired;

 private:
  std::shared_ptr<RuntimeDevice> device_;
  std::shared_ptr<EventSocket> async_events_;
  uint32_t number_ = 0;
};

/// What is ours of the memory that libibverbs allocates for a context. It follows ibv_context, the
/// last member of verbs_context, which is larger in later releases.
struct ContextTail {
  Context* self;
  verbs_context* verbs;  ///< the beginning of the memory
};

inline ContextTail& tail_of(ibv_context* context) {
  return *reinterpret_cast<ContextTail*>(context + 1);
}

inline Context& context_of(ibv_context* context) {
  return *tail_of(context).self;
}

/// verbs_device_ops::alloc_context
verbs_context* alloc_context(ibv_device* device, int cmd_fd, void* private_data) noexcept;
/// verbs_device_ops::import_context. EOPNOTSUPP: the descriptor is of no context of this process.
verbs_context* import_context(ibv_device* device, int cmd_fd) noexcept;
/// verbs_context_ops::free_context
void free_context(ibv_context* context) noexcept;

/// The ibv_context in the zeroed memory of `size` bytes at which libibverbs has made a
/// verbs_context of the device. Null: it has another layout, or `size` leaves no room for a
/// ContextTail.
ibv_context* find_context(void* memory, size_t size, const ibv_device* device);

/// The operations of a context.
const abi::VerbsContextOps& context_ops();

}  // namespace urxe
