// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/captured_lane.h"

#include <algorithm>
#include <new>
#include <optional>

#include "packet/engine/capture_record.h"
#include "packet/host/clock.h"
#include "packet/host/held_signals.h"
#include "packet/wire/icrc.h"

namespace urxe {

std::span<const RxPacket> CapturedLane::receive() {
  const std::span<const RxPacket> packets = inner_lane().receive();
  if (packets.empty() || !writer_.is_on()) return packets;
  record([&](uint64_t time_ns) {
    for (const RxPacket& packet : packets) add_received(packet, time_ns);
  });
  return packets;
}

size_t CapturedLane::transmit(TxBatch& batch) {
  if (writer_.is_on() && !batch.empty() && !is_recorded_) {
    batch.gather();
    record([&](uint64_t time_ns) {
      for (const TxBatch::Message& message : batch.messages()) add_sent(batch, message, time_ns);
    });
  }
  const size_t taken = inner_lane().transmit(batch);
  is_recorded_ = !batch.empty();
  return taken;
}

/// A signal handler of the program may allocate, too, as perftest's does; it must not interrupt an
/// allocation here.
template <class AddRecords>
void CapturedLane::record(AddRecords add_records) {
  const HeldSignals signals;
  try {
    add_records(static_cast<uint64_t>(wall_clock_ns()));
    writer_.append(records_);
  } catch (const std::bad_alloc&) {
    writer_.stop("out of memory");
  }
  records_.clear();
}

void CapturedLane::add_received(const RxPacket& packet, uint64_t time_ns) {
  if (!packet.has_icrc) {
    const uint16_t assumed = packet.ipv4_identification.value_or(0);
    sealed_.assign(packet.bytes.begin(), packet.bytes.end());
    write_icrc(packet.flow, assumed, sealed_);
    append_capture_record(records_, Direction::kInbound, time_ns, packet.flow, assumed, sealed_);
    return;
  }
  std::optional<uint16_t> identification = packet.ipv4_identification;
  if (!identification) {
    identification =
        icrc_recover_identification(packet.flow, packet.bytes, packet.likely_identification);
  }
  append_capture_record(records_, Direction::kInbound, time_ns, packet.flow,
                        identification.value_or(0), packet.bytes);
}

void CapturedLane::add_sent(const TxBatch& batch, const TxBatch::Message& message,
                            uint64_t time_ns) {
  const std::span<const uint8_t> bytes = batch.bytes(message);
  for (size_t i = 0; i < message.segments; ++i) {
    const size_t offset = i * message.segment_size;
    const size_t size = std::min(message.segment_size, bytes.size() - offset);
    append_capture_record(records_, Direction::kOutbound, time_ns, message.flow,
                          batch.identification(i), bytes.subspan(offset, size));
  }
}

}  // namespace urxe
