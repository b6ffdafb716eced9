// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "provider/verbs/abi/private_abi.h"

namespace urxe {

/// Where the loaded libibverbs has what follows the members of ibv_qp in a queue pair. The release
/// decides it, not the private ABI's number: `ibv_qp_ex` has grown by wr_atomic_write in rdma-core
/// 44 and by wr_flush in 45, and the flags follow it.
struct QpLayout {
  size_t comp_mask = 0;  ///< offset of verbs_qp.comp_mask, 32 bits

  [[nodiscard]] bool has_wr_atomic_write() const { return comp_mask > kWrAtomicWrite; }
  [[nodiscard]] bool has_wr_flush() const { return comp_mask > kWrFlush; }

  // They follow what all releases have. The place depends on the machine: ibv_qp contains a mutex.
  static constexpr size_t kWrAtomicWrite = offsetof(ibv_qp_ex, wr_abort) + sizeof(void*);
  static constexpr size_t kWrFlush = kWrAtomicWrite + sizeof(void*);
};

/// ibv_qp_to_qp_ex()
using QpToQpEx = ibv_qp_ex* (*)(ibv_qp*);

/// Finds the layout by asking the library: ibv_qp_to_qp_ex() reads nothing but the bit of comp_mask
/// that says whether a queue pair has builders. nullopt: the bit is not inside abi::VerbsQp.
std::optional<QpLayout> find_qp_layout(QpToQpEx to_qp_ex) noexcept;

/// Sets the bit: ibv_qp_to_qp_ex() returns the queue pair from now on.
void announce_builders(const QpLayout& layout, abi::VerbsQp& qp) noexcept;

/// Sets all builders between wr_atomic_write and the flags: those of releases later than 44, for
/// which this program's headers may have no names. All builders take the queue pair first and
/// return nothing, so one function that ignores its other arguments serves them.
void set_later_builders(const QpLayout& layout, abi::VerbsQp& qp,
                        void (*builder)(ibv_qp_ex*)) noexcept;

/// ibv_qp_ex.wr_flush
using WrFlush = void (*)(ibv_qp_ex*, uint32_t rkey, uint64_t addr, size_t length, uint8_t type,
                         uint8_t level);
/// Only if the layout has it.
void set_wr_flush(abi::VerbsQp& qp, WrFlush builder) noexcept;

}  // namespace urxe
