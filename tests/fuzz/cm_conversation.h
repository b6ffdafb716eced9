// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "tests/fuzz/input.h"
#include "transport/cm/connection_manager.h"

namespace urxe::fuzz {

/// One connection manager, whose consumer, peers and clock are the input. Aborts where an invariant
/// is broken.
class CmConversation {
 public:
  CmConversation();
  /// Takes what it needs off the input.
  void step(Input& input);
  /// Destroys everything and lets all time pass.
  void finish();

 private:
  void pass_time(Input& input);
  void call_verb(Input& input);
  void call_verb_on(CommId id, Input& input);
  void receive_message(Input& input);
  void receive_reflected(Input& input);
  void receive_bytes(Input& input);
  void deliver(std::span<const uint8_t> mad, const Flow& flow);
  void drain();

  CommId pick_ours(Input& input);
  CommId pick_peers(Input& input);
  CmBody pick_body(Input& input);
  Flow pick_flow(Input& input);

  ConnectionManager cm_;
  Instant now_;
  std::vector<ListenerId> listeners_;
  std::vector<CommId> ours_;  ///< all that were ever seen
  std::vector<CommId> peers_;
  std::set<CommId> live_;       ///< that the consumer has
  std::vector<MadBytes> sent_;  ///< the last ones
  std::vector<uint64_t> transactions_;
  uint64_t delivered_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace urxe::fuzz
