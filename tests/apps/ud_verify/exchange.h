// SPDX-License-Identifier: BSD-2-Clause
// Datagrams from one process to the other and back, every byte of which both know in advance.
#pragma once

#include <cstdint>
#include <vector>

#include "endpoint.h"

namespace ud_verify {

// A datagram of the test: its bytes follow from who sends it and from its number.
struct Case {
  uint32_t number = 0;
  uint32_t size = 0;
  bool immediate = false;
  bool in_line = false;
  uint32_t pieces = 1;
};

// Sizes from 0 to the largest, plain and with immediate data, inline where both devices take so
// much, in several pieces.
std::vector<Case> all_cases(uint32_t largest, const Address& ours, const Address& theirs);

class Exchange {
 public:
  Exchange(Endpoint& endpoint, rc_verify::Control& control, const Address& peer, bool is_server,
           uint32_t gid_index);

  // One datagram at a time: the client's, and the server's answer to the address that the client's
  // GRH tells.
  void run_cases(const std::vector<Case>& cases);
  // Many at a time, in both directions.
  void run_bursts(uint32_t size);
  // A datagram with another Q_Key is dropped.
  void run_wrong_qkey();
  // The client's datagram has the Q_Key of its queue pair, because the work request's has the
  // highest bit set (C10-15 of the InfiniBand Architecture Specification).
  void run_controlled_qkey();

  // Of the datagram received last, as it stood in the receive buffer.
  const std::vector<uint8_t>& last_grh() const { return last_grh_; }

 private:
  void send(const Case& which, ibv_ah* handle, uint32_t qkey);
  // Checks the completion and the bytes; returns an address handle for the sender, made from the
  // GRH. Posts the receive again.
  verbs::AhPtr receive(const Case& which);
  void check_completion(const ibv_wc& completion, const Case& which) const;
  void check_buffer(const uint8_t* buffer, const Case& which);
  verbs::AhPtr handle_from(const ibv_wc& completion, uint8_t* buffer) const;

  Endpoint& endpoint_;
  rc_verify::Control& control_;
  Address peer_;
  bool is_server_;
  uint32_t gid_index_;
  verbs::AhPtr handle_;
  std::vector<uint8_t> last_grh_;
};

}  // namespace ud_verify
