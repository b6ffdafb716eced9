// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

namespace urxe {

// FLUSH in <infiniband/verbs.h> of rdma-core 45 and later. The headers that this is built with may
// be older.

inline constexpr auto kWrFlush = static_cast<ibv_wr_opcode>(14);  ///< IBV_WR_FLUSH
inline constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);   ///< IBV_WC_FLUSH

inline constexpr int kAccessFlushGlobal = 1 << 8;      ///< IBV_ACCESS_FLUSH_GLOBAL
inline constexpr int kAccessFlushPersistent = 1 << 9;  ///< IBV_ACCESS_FLUSH_PERSISTENT

}  // namespace urxe
