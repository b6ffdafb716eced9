// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/engine.h"

namespace urxe {

TxBatch::Limits PacketEngine::batch_limits(size_t index) {
  const EnginePromises promised = promises();
  const LaneLimits room = lane(index).limits();
  TxBatch::Limits limits;
  limits.bytes = room.bytes;
  limits.packets = room.packets;
  limits.segments_per_message = promised.segments_per_message;
  limits.message_bytes = promised.message_bytes;
  limits.identification = promised.identification;
  limits.seals = !promised.integrity;
  limits.elsewhere_from = promised.elsewhere_from;
  return limits;
}

}  // namespace urxe
