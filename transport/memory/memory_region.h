// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "packet/base/expected.h"
#include "packet/wire/types.h"
#include "transport/memory/host_memory.h"
#include "transport/memory/key_sequence.h"
#include "transport/memory/key_table.h"

namespace urxe {

/// A protection domain: only its identity matters.
using PdId = StrongInt<struct PdIdTag, uint32_t>;

/// A scatter/gather element of a work request.
struct Sge {
  uint64_t addr = 0;
  uint32_t length = 0;
  LKey lkey;
};

/// What is behind a region's addresses.
enum class Backing : uint8_t {
  kPinned,    ///< memory that stays mapped until guard() says otherwise
  kOnDemand,  ///< addresses; what is mapped there is found out at each access
  kNull,      ///< nothing, at any address (ibv_alloc_null_mr(3))
};

/// A registered region. `access` holds ibv_access_flags.
struct MemoryRegion {
  LKey lkey;
  RKey rkey;
  PdId pd;
  uint8_t* host = nullptr;  ///< where `iova` is in this process
  uint64_t iova = 0;
  uint64_t length = 0;
  int access = 0;
  Backing backing = Backing::kPinned;
  uint32_t windows = 0;  ///< memory windows bound to it

  /// Has every access from now on go through GuardedAccess, because the application takes (part of)
  /// the memory away. Any thread; accesses that are under way end before the device's lock is free.
  void guard() {
    if (kind.load(std::memory_order_relaxed) == HostMemory::Kind::kPlain) {
      kind.store(HostMemory::Kind::kGuarded, std::memory_order_relaxed);
    }
  }
  std::atomic<HostMemory::Kind> kind = HostMemory::Kind::kPlain;
};

/// A memory window: rights to a part of a region, given and taken back by binding
/// (IBTA vol. 1, 10.6.7). Type 2 ones belong to the queue pair that bound them, and a peer may
/// invalidate them.
struct MemoryWindow {
  RKey rkey;
  PdId pd;
  ibv_mw_type type = IBV_MW_TYPE_1;
  MemoryRegion* region = nullptr;  ///< nullptr: not bound
  Qpn qpn;                         ///< of a bound type 2 window
  uint64_t va = 0;                 ///< of its first byte as peers name it; 0 for a zero-based one
  uint64_t offset = 0;             ///< of its first byte in the region
  uint64_t length = 0;
  int access = 0;
};

/// What a bind asks for. Length 0 unbinds.
struct BindRequest {
  RKey window;   ///< any key of the window: only its name is looked at
  RKey new_key;  ///< of the same name
  LKey region;
  uint64_t va = 0;
  uint64_t length = 0;
  int access = 0;
};

/// What a region is registered with.
struct RegionRequest {
  PdId pd;
  uint8_t* host = nullptr;
  uint64_t length = 0;
  uint64_t iova = 0;
  int access = 0;  ///< ibv_access_flags
  Backing backing = Backing::kPinned;
};

/// The regions and windows of one device, by key (KeySequence); a region's lkey and rkey are the
/// same number. Not thread-safe: the device's caller serialises.
class MemoryTable {
 public:
  MemoryTable(const SipKey& secret, const GuardedAccess& guarded);

  /// Errors: EINVAL (remote write or atomic without local write, wrap-around), ENOMEM (table full).
  Expected<MemoryRegion*, Errno> add(const RegionRequest& request);
  /// Errors: EBUSY (windows are bound to it).
  Expected<void, Errno> remove(MemoryRegion* region);
  /// Changes a region in place; its keys stay. Errors: as add() and remove().
  Expected<void, Errno> replace(MemoryRegion& region, const RegionRequest& request);
  [[nodiscard]] static bool access_is_valid(int access);

  /// The memory behind a local scatter/gather element. Refused where the key is unknown or of
  /// another protection domain, the range is outside, or (`write`) the region is read-only locally.
  [[nodiscard]] HostMemory local(PdId pd, const Sge& sge, bool write) const;

  /// The memory behind a remote access of `length` > 0 bytes that came in on queue pair `qpn` and
  /// needs the `access` right.
  [[nodiscard]] HostMemory remote(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                                  int access) const;
  /// The region, or window, that has the key; or nullptr.
  [[nodiscard]] MemoryRegion* find(uint32_t key) const;
  [[nodiscard]] MemoryWindow* find_window(RKey rkey) const;
  /// How to reach what local() and remote() give.
  [[nodiscard]] const GuardedAccess& guarded() const { return guarded_; }

  Expected<MemoryWindow*, Errno> add_window(PdId pd, ibv_mw_type type);  ///< ENOMEM
  void remove_window(MemoryWindow* window);
  /// Binds, binds anew (type 1) or unbinds a window on behalf of queue pair `qpn`. False: refused.
  [[nodiscard]] bool bind(PdId pd, Qpn qpn, const BindRequest& request);
  /// Local invalidate and SEND with invalidate: unbinds the type 2 window that has the key. False:
  /// it is nothing that this queue pair may invalidate. A region made by ibv_reg_mr is not
  /// (IBTA vol. 1, 10.6.5).
  [[nodiscard]] bool invalidate(PdId pd, Qpn qpn, RKey rkey);

  /// Unbinds the type 2 windows of a queue pair that is reset or destroyed.
  void unbind_all(Qpn qpn);

 private:
  [[nodiscard]] HostMemory remote_by_window(PdId pd, Qpn qpn, RKey rkey, uint64_t va,
                                            uint64_t length, int access) const;
  [[nodiscard]] uint32_t new_key();

  KeySequence keys_;
  KeyTable<MemoryRegion> regions_;
  KeyTable<MemoryWindow> windows_;
  GuardedAccess guarded_;
};

}  // namespace urxe
