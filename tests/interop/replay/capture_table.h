// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/interop/replay/ledger.h"

namespace urxe::replay {

/// The remote memory that a recorded key stood for, where the accesses alone do not tell.
struct RegionRow {
  uint32_t rkey;
  uint64_t va;
  uint64_t length;
  int access;              ///< ibv_access_flags
  bool is_window = false;  ///< of type 2, bound by the queue pair that is accessed
};

/// A capture: what it takes to replay it besides what its packets say, and what may differ.
struct CaptureRow {
  std::string_view file;  ///< in pcap_samples/
  std::vector<Allowance> as_requester{};
  std::vector<Allowance> as_responder{};
  uint8_t timeout = 14;              ///< local ACK timeout of the requester
  std::vector<RegionRow> regions{};  ///< besides those of which all accesses succeeded
  uint32_t receive_bytes = 0;        ///< of the receive buffers; 0: what the messages need
  bool shared_receives = false;      ///< the responder takes from a shared receive queue
  bool sets_atomics = false;  ///< the responder's program gave the atomics' target each value found
  bool fenced_chain = false;  ///< all requests were posted at once, each but the first with a fence
  std::string_view without_requests{};  ///< why there are only MADs; empty: there are others
};

const std::vector<CaptureRow>& capture_table();

/// "cm_rping" of "cm_rping.pcap", "interop_send" of "interop/send.pcap".
std::string name_of(const CaptureRow& row);

}  // namespace urxe::replay
