// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/engine/capture_writer.h"
#include "packet/engine/forwarding_engine.h"

namespace urxe {

/// A lane of a CaptureEngine: records every packet that it receives or sends. What it sends must
/// have ICRCs.
class CapturedLane final : public ForwardingLane {
 public:
  /// `writer` outlives this.
  CapturedLane(EngineLane& inner, CaptureWriter& writer) : ForwardingLane(inner), writer_(writer) {}

  std::span<const RxPacket> receive() override;
  /// Records what is offered first; what is offered again has been recorded.
  size_t transmit(TxBatch& batch) override;

 private:
  template <class AddRecords>
  void record(AddRecords add_records);
  void add_received(const RxPacket& packet, uint64_t time_ns);
  void add_sent(const TxBatch& batch, const TxBatch::Message& message, uint64_t time_ns);

  CaptureWriter& writer_;
  bool is_recorded_ = false;      ///< what the inner lane had no room for
  std::vector<uint8_t> records_;  ///< of the batch at hand
  std::vector<uint8_t> sealed_;   ///< a packet that came without an ICRC
};

}  // namespace urxe
