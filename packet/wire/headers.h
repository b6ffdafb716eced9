// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/opcode.h"
#include "packet/wire/psn.h"
#include "packet/wire/types.h"

namespace urxe {

// The transport headers as plain values in host byte order (IBTA vol. 1, sections 9.2 to 9.6).

/// Base transport header, 12 bytes. TVer is always 0, reserved bits are 0 when sent, ignored when
/// received; the pad count is derived from the payload.
struct Bth {
  Opcode opcode;
  bool solicited = false;
  bool mig_req = true;  ///< "migrated": always set by a queue pair without an alternate path
  bool fecn = false;
  bool becn = false;
  bool ack_req = false;
  PKey pkey = kDefaultPKey;
  Qpn dest_qp;
  Psn psn;
};

/// RDMA extended transport header, 16 bytes.
struct Reth {
  uint64_t va = 0;
  RKey rkey;
  uint32_t dma_length = 0;
};

/// FLUSH extended transport header, 4 bytes (annex A19). The reserved bits, 6 to 31, are 0 when
/// sent and ignored when received.
struct Feth {
  // Bits of the placement type.
  static constexpr uint8_t kGlobal = 1;      ///< visible to all that can access the memory
  static constexpr uint8_t kPersistent = 2;  ///< survives a loss of power
  // Selectivity levels; 2 and 3 are reserved.
  static constexpr uint8_t kRange = 0;   ///< what the RETH names
  static constexpr uint8_t kRegion = 1;  ///< all of the region, or window; the RETH's rkey counts

  uint8_t placement = 0;    ///< 4 bits, of which 2 and 3 are reserved
  uint8_t selectivity = 0;  ///< 2 bits
};

/// ACK extended transport header, 4 bytes; see aeth_syndrome.h.
struct Aeth {
  uint8_t syndrome = 0;
  Msn msn;
};

/// Atomic extended transport header, 28 bytes.
struct AtomicEth {
  uint64_t va = 0;
  RKey rkey;
  uint64_t swap_or_add = 0;
  uint64_t compare = 0;
};

/// Datagram extended transport header, 8 bytes.
struct Deth {
  QKey qkey;
  Qpn source_qp;
};

/// All headers of one packet. Only those in opcode_info(bth.opcode).extensions mean anything.
struct Headers {
  Bth bth;
  Feth feth;
  Reth reth;
  AtomicEth atomic;
  Aeth aeth;
  uint64_t atomic_original = 0;  ///< AtomicAckETH, 8 bytes
  uint32_t immediate_be = 0;     ///< ImmDt, 4 bytes, in network byte order as verbs hands it over
  RKey invalidate;               ///< IETH, 4 bytes
  Deth deth;
  Srqn xrc_srq;  ///< XRCETH, 4 bytes
};

}  // namespace urxe
