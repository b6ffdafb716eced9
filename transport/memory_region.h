// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/types.h"
#include "transport/sge.h"

namespace urxe {

/// A protection domain: only its identity matters.
using PdId = StrongInt<struct PdIdTag, uint32_t>;

/// A registered region. `access` holds ibv_access_flags.
struct MemoryRegion {
  LKey lkey;
  RKey rkey;
  PdId pd;
  uint8_t* host = nullptr;  ///< where `iova` is in this process
  uint64_t iova = 0;
  uint64_t length = 0;
  int access = 0;
  bool valid = false;    ///< false: the table keeps it for the next owner
  uint32_t windows = 0;  ///< memory windows bound to it
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
  bool valid = false;  ///< false: the table keeps it for the next owner
};

/// What a bind asks for. Length 0 unbinds.
struct BindRequest {
  RKey window;   ///< any key of the window: only its index is looked at
  RKey new_key;  ///< of the same index
  LKey region;
  uint64_t va = 0;
  uint64_t length = 0;
  int access = 0;
};

/// The regions and windows of one device, by key. A key is an index (upper 24 bits) and 8 bits that
/// differ from one owner of the index to the next; a region's lkey and rkey are the same number.
/// Not thread-safe: the device's caller serialises.
class MemoryTable {
 public:
  explicit MemoryTable(uint64_t seed);

  /// Errors: EINVAL (remote write or atomic without local write, wrap-around), ENOMEM (table full).
  Expected<MemoryRegion*, Errno> add(PdId pd, uint8_t* host, uint64_t length, uint64_t iova,
                                     int access);
  /// Errors: EBUSY (windows are bound to it).
  Expected<void, Errno> remove(MemoryRegion* region);
  /// Changes a region in place; its keys stay. Errors: as add() and remove().
  Expected<void, Errno> replace(MemoryRegion& region, PdId pd, uint8_t* host, uint64_t length,
                                uint64_t iova, int access);
  [[nodiscard]] static bool access_is_valid(int access);

  /// The memory behind a local scatter/gather element, or nullptr where the key is unknown, is of
  /// another protection domain, the range is outside, or (`write`) the region is read-only locally.
  [[nodiscard]] uint8_t* local(PdId pd, const Sge& sge, bool write) const;

  /// The memory behind a remote access of `length` > 0 bytes that came in on queue pair `qpn` and
  /// needs the `access` right, or nullptr.
  [[nodiscard]] uint8_t* remote(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                                int access) const;

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

  [[nodiscard]] size_t size() const { return count_; }

 private:
  struct Entry {
    MemoryRegion region;
    MemoryWindow window;
  };
  [[nodiscard]] MemoryRegion* find(uint32_t key) const;
  [[nodiscard]] MemoryWindow* window_at(uint32_t index) const;
  [[nodiscard]] MemoryWindow* find_window(RKey rkey) const;
  [[nodiscard]] uint8_t* remote_by_window(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                                          int access) const;
  [[nodiscard]] uint32_t new_key(uint32_t index);
  /// The index of a free entry.
  uint32_t take_entry();
  void free_entry(uint32_t key);

  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<uint32_t> free_;
  uint64_t random_;
  size_t count_ = 0;
  size_t window_count_ = 0;
};

}  // namespace urxe
