// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

#include "provider/verbs/abi/operations.h"
#include "provider/verbs/abi/private_abi.h"

namespace urxe {

// The handles that the application holds lie in memory that it can write to, and it may use one
// that it has destroyed. Verbs that make, change or destroy objects check them, as the kernel does
// for a hardware device; those that move data do not.

/// In every handle, behind libibverbs' structure.
struct HandleMark {
  uint32_t number = 0;  ///< what the member `handle` must be
  bool live = false;    ///< from the object's creation to its end
  void* object = nullptr;
  void (*free)(void* object) = nullptr;  ///< for RetiredHandles
};

/// The handles of a context that were destroyed last. Their memory stays as it is for a while, so
/// that a second call with one finds its mark, and libibverbs its context. Thread-safe, and takes
/// no lock, so a forked child may use it.
class RetiredHandles {
 public:
  RetiredHandles() = default;
  RetiredHandles(const RetiredHandles&) = delete;
  RetiredHandles& operator=(const RetiredHandles&) = delete;
  ~RetiredHandles() {
    for (auto& place : ring_) free(place.load());
  }

  /// Takes the object over, in the place of the one that was retired kKept calls ago. What it holds
  /// of other objects must have been released.
  template <class Object>
  void add(Object& object) {
    object.mark.live = false;
    object.mark.object = &object;
    object.mark.free = [](void* retired) { delete static_cast<Object*>(retired); };
    free(ring_[next_.fetch_add(1) % kKept].exchange(&object.mark));
  }

 private:
  static constexpr uint32_t kKept = 256;

  static void free(HandleMark* mark) {
    if (mark != nullptr) mark->free(mark->object);
  }

  std::array<std::atomic<HandleMark*>, kKept> ring_{};
  std::atomic<uint32_t> next_{0};
};

/// 0; EINVAL: the object was destroyed, or `context` is not the one that it was made with; ENOENT:
/// its number is not `handle`.
template <class Object>
int check_mark(const Object& object, const ibv_context* context, uint32_t handle) {
  if (!object.mark.live || context != object.owner->handle) return EINVAL;
  return handle == object.mark.number ? 0 : ENOENT;
}

/// Not 0, and not returned before.
uint32_t next_handle_number();

// check_mark() for a handle as libibverbs passes it. Not null. EOPNOTSUPP: an imported region,
// which only the context that has registered it can change or end.
int check_handle(const ibv_context* context);
int check_handle(ibv_pd* pd);
int check_handle(ibv_td* td);
int check_handle(abi::VerbsMr* mr);
int check_handle(ibv_mw* mw);
int check_handle(ibv_dm* dm);
int check_handle(ibv_ah* ah);
int check_handle(ibv_cq* cq);
int check_handle(ibv_srq* srq);
int check_handle(ibv_xrcd* xrcd);
int check_handle(ibv_qp* qp);
int check_handle(ibv_flow* flow);
int check_handle(abi::CompCntr* counter);

}  // namespace urxe
