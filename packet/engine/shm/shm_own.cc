// SPDX-License-Identifier: BSD-2-Clause
// What an engine sends to its own process.
#include "packet/engine/shm/shm.h"
#include "packet/host/uncancelled.h"
#include "packet/wire/types.h"

namespace urxe {

bool ShmEngine::send_to_self(const TxBatch::Message& message, const uint8_t* memory) {
  if (!own_.put(message, memory)) return false;
  counters_.sent_packets += message.segments;
  counters_.sent_bytes += message.size;
  if (sleeps_) uncancelled::ring_bell(bell_.get());
  return true;
}

/// Returns whether packets of the inner engine are among those that were taken.
bool ShmEngine::take_own() {
  for (const TxBatch::Message& message : own_.take()) {
    PacketRun run;
    run.flow = message.flow;
    if (run.flow.hop_limit == 0) run.flow.hop_limit = kDefaultHopLimit;
    run.segment_size = message.segment_size;
    run.bytes = {own_.memory() + message.offset, message.size};
    hand_on(run, message.segments > 1, message.sealed);
  }
  if (!own_.rest_is_elsewhere()) return false;
  if (read_sockets_first()) return true;
  if (!inner_lane().has_unsent()) own_.note_sockets_empty();
  return false;
}

}  // namespace urxe
