// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

#include "packet/base/expected.h"
#include "packet/base/short_lock.h"
#include "packet/wire/types.h"
#include "transport/memory/host_memory.h"
#include "transport/memory/key_sequence.h"
#include "transport/memory/key_table.h"
#include "transport/memory/memory_losses.h"

namespace urxe {

/// A protection domain: only its identity matters.
using PdId = StrongInt<struct PdIdTag, uint32_t>;

/// A scatter/gather element of a work request.
struct Sge {
  uint64_t addr = 0;
  uint32_t length = 0;
  LKey lkey;
};

/// The kind of memory behind a region's addresses.
enum class Backing : uint8_t {
  kPinned,    ///< memory that stays mapped, but for the region's losses
  kOnDemand,  ///< the memory that is mapped there at each access
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
  std::atomic<uint32_t> windows{0};  ///< memory windows bound to it

  /// What the application takes away of Backing::kPinned, by addresses of this process. Any thread;
  /// accesses that have not seen a loss yet end before the device's lock is free.
  MemoryLosses losses;
};

/// A memory window: access rights to a part of a region, granted and revoked by binding
/// (IBTA vol. 1, 10.6.7). A type 2 window belongs to the queue pair that has bound it, and a peer
/// may invalidate it.
struct MemoryWindow {
  PdId pd;
  ibv_mw_type type = IBV_MW_TYPE_1;

  // Under the lock, since the lanes of a device share windows (MemoryTable).
  ShortLock lock;
  RKey rkey;
  MemoryRegion* region = nullptr;  ///< nullptr: not bound
  Qpn qpn;                         ///< of a bound type 2 window
  uint64_t va = 0;                 ///< the peers' address of its first byte; 0 if zero-based
  uint64_t offset = 0;             ///< of its first byte in the region
  uint64_t length = 0;
  int access = 0;
};

/// The parameters of a bind. Length 0 unbinds.
struct BindRequest {
  RKey window;   ///< any key of the window: only the name counts
  RKey new_key;  ///< only the low 8 bits count, as with NICs: the rest is the window's name
  LKey region;
  uint64_t va = 0;
  uint64_t length = 0;
  int access = 0;
};

/// The parameters of a registration.
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
///
/// Each lane of a device has a table. The first lane's makes and removes the objects, the others'
/// share them: to add, change or remove one, the caller has the locks of all lanes. What a bind
/// changes is under the window's lock. remote() may keep the lock of one window, so that no other
/// lane revokes it during the access; release_window() ends that.
class MemoryTable {
 public:
  MemoryTable(const SipKey& secret, const GuardedAccess& guarded);

  /// Errors: EINVAL (remote write or atomic without local write, wrap-around), ENOMEM (table full).
  Expected<MemoryRegion*, Errno> add(const RegionRequest& request);
  /// Errors: EBUSY (windows are bound to it).
  Expected<void, Errno> remove(MemoryRegion* region);
  /// Shares the region, or window, that has the key in `from`. Throws std::bad_alloc, and has then
  /// changed nothing.
  void share(const MemoryTable& from, uint32_t key);
  /// Undoes share(). Does nothing if there is no such key.
  void forget(uint32_t key);
  /// Shares all of `from`.
  void share_all(const MemoryTable& from);
  /// Changes a region in place; its keys stay. Errors: as add() and remove().
  Expected<void, Errno> replace(MemoryRegion& region, const RegionRequest& request);
  [[nodiscard]] static bool access_is_valid(int access);

  /// The memory behind a local scatter/gather element. Refused: the key is unknown or of another
  /// protection domain, the range is outside, or (`write`) the region has no local write access.
  /// What is refused says why, here and by remote().
  [[nodiscard]] HostMemory local(PdId pd, const Sge& sge, bool write) const;

  /// The memory behind a remote access of `length` > 0 bytes that came in on queue pair `qpn` and
  /// needs the `access` right.
  [[nodiscard]] HostMemory remote(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                                  int access) const;
  /// The peers' address of the first byte of the region or window that has the key; 0: none has.
  [[nodiscard]] uint64_t first_address(RKey rkey) const;
  /// The region, or window, that has the key; or nullptr.
  [[nodiscard]] MemoryRegion* find(uint32_t key) const;
  [[nodiscard]] const KeyTable<MemoryRegion>& regions() const { return regions_; }
  [[nodiscard]] bool has_window(RKey rkey) const;
  /// How to access guarded memory that local() and remote() return.
  [[nodiscard]] const GuardedAccess& guarded() const { return guarded_; }

  /// The accesses that remote() has allowed are over. To be called before other lanes may wait.
  void release_window() const;

  Expected<MemoryWindow*, Errno> add_window(PdId pd, ibv_mw_type type);  ///< ENOMEM
  void remove_window(MemoryWindow* window);
  /// Binds, binds anew (type 1) or unbinds a window on behalf of queue pair `qpn`. False: refused.
  [[nodiscard]] bool bind(PdId pd, Qpn qpn, const BindRequest& request);
  /// Local invalidate and SEND with invalidate: unbinds the type 2 window that has the key. False:
  /// this queue pair may not invalidate the key. Keys of regions made by ibv_reg_mr() cannot be
  /// invalidated (IBTA vol. 1, 10.6.5).
  [[nodiscard]] bool invalidate(PdId pd, Qpn qpn, RKey rkey);

  /// Unbinds the type 2 windows of a queue pair that is reset or destroyed.
  void unbind_all(Qpn qpn);

 private:
  [[nodiscard]] HostMemory remote_by_window(PdId pd, Qpn qpn, RKey rkey, uint64_t va,
                                            uint64_t length, int access) const;
  [[nodiscard]] MemoryWindow* hold_window(uint32_t name) const;
  [[nodiscard]] uint32_t new_key();

  KeySequence keys_;
  KeyTable<MemoryRegion> regions_;
  KeyTable<MemoryWindow> windows_;
  GuardedAccess guarded_;
  mutable MemoryWindow* held_ = nullptr;  ///< the window whose lock this table has
};

}  // namespace urxe
