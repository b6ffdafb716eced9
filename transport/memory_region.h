// SPDX-License-Identifier: BSD-2-Clause
#pragma once

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
  bool valid = false;  ///< false: the table keeps it for the next owner
};

/// The regions of one device, by key. A key is an index (upper 24 bits) and 8 bits that differ from
/// one owner of the index to the next; a region's lkey and rkey are the same number.
/// Not thread-safe: the device's caller serialises.
class MemoryTable {
 public:
  explicit MemoryTable(uint64_t seed);

  /// Errors: EINVAL (remote write or atomic without local write, wrap-around), ENOMEM (table full).
  Expected<MemoryRegion*, Errno> add(PdId pd, uint8_t* host, uint64_t length, uint64_t iova,
                                     int access);
  void remove(MemoryRegion* region);
  /// Changes a region in place and gives it new keys.
  Expected<void, Errno> replace(MemoryRegion& region, PdId pd, uint8_t* host, uint64_t length,
                                uint64_t iova, int access);
  [[nodiscard]] static bool access_is_valid(int access);

  /// The memory behind a local scatter/gather element, or nullptr where the key is unknown, is of
  /// another protection domain, the range is outside, or (`write`) the region is read-only locally.
  [[nodiscard]] uint8_t* local(PdId pd, const Sge& sge, bool write) const;

  /// The memory behind a remote access of `length` > 0 bytes needing the `access` right, or
  /// nullptr.
  [[nodiscard]] uint8_t* remote(PdId pd, RKey rkey, uint64_t va, uint64_t length, int access) const;

  /// SEND with invalidate: false where `rkey` is nothing that a peer may invalidate. A region made
  /// by ibv_reg_mr is not (IBTA vol. 1, 10.6.5); memory windows of type 2 are.
  [[nodiscard]] bool invalidate(PdId pd, RKey rkey);

  [[nodiscard]] size_t size() const { return count_; }

 private:
  [[nodiscard]] const MemoryRegion* find(uint32_t key) const;
  [[nodiscard]] uint32_t new_key(uint32_t index);

  std::vector<std::unique_ptr<MemoryRegion>> regions_;
  std::vector<uint32_t> free_;
  uint64_t random_;
  size_t count_ = 0;
};

}  // namespace urxe
