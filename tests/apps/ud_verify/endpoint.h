// SPDX-License-Identifier: BSD-2-Clause
// The verbs objects of one process: a device and a UD queue pair with its receives.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grh.h"
#include "options.h"
#include "tests/apps/rc_verify/control.h"
#include "tests/apps/verbs_pointers.h"

namespace ud_verify {

inline constexpr uint8_t kPort = 1;
inline constexpr uint32_t kReceives = 64;
inline constexpr uint32_t kMostPieces = 4;
inline constexpr uint8_t kHopLimit = 64;
inline constexpr uint8_t kTrafficClass = 0x68;
inline constexpr uint32_t kFollowQueuePair = 0x80000000;  // A Q_Key: use the queue pair's.

// What one process tells the other.
struct Address {
  ibv_gid gid;
  uint32_t qp_number;
  uint32_t qkey;
  uint32_t in_line;
  uint32_t pieces;
};

struct Datagram {
  std::span<const uint8_t> bytes;
  std::optional<uint32_t> immediate;
  bool in_line = false;
  uint32_t pieces = 1;
};

class Endpoint {
 public:
  // Opens the device; the receives are posted. `qkey` is the queue pair's.
  Endpoint(const Options& options, rc_verify::Control& control, uint32_t qkey);

  // Ours.
  const Address& address() const { return address_; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* pd() const { return pd_.get(); }

  // An address handle for the GID, with the hop limit and traffic class above.
  verbs::AhPtr handle_for(const ibv_gid& gid) const;
  void send(ibv_ah* handle, uint32_t qp_number, uint32_t qkey, const Datagram& datagram);
  // Throw peer_lost where the peer is gone, mismatch where nothing comes or an error does.
  void wait_sent();
  ibv_wc wait_received();
  // Whether another completion of a receive is there now.
  bool received_more();

  uint8_t* receive_buffer(uint64_t slot) { return receive_memory_.data() + slot * kSlot; }
  // Overwrites and posts it.
  void post_receive(uint64_t slot);

  static constexpr uint32_t kSlot = 8192;
  static constexpr uint8_t kUntouched = 0x5a;  // What a posted receive's bytes are.

 private:
  void open(const std::string& name);
  void create_queue_pair();
  void bring_up(uint32_t qkey);
  ibv_wc wait(ibv_cq* queue, const char* what);

  const Options& options_;
  rc_verify::Control& control_;
  Address address_{};
  verbs::ContextPtr context_;
  verbs::PdPtr pd_;
  verbs::CqPtr send_cq_;
  verbs::CqPtr receive_cq_;
  verbs::QpPtr qp_;
  std::vector<uint8_t> receive_memory_;
  std::vector<uint8_t> send_memory_;
  uint32_t send_slot_ = 0;
  verbs::MrPtr receive_mr_;
  verbs::MrPtr send_mr_;
};

}  // namespace ud_verify
