// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packet/engine/capture_writer.h"
#include "packet/engine/captured_lane.h"
#include "packet/engine/forwarding_engine.h"

namespace urxe {

/// Wraps an engine and appends every packet that its lanes receive or send to a pcapng file, one
/// record per packet, with IP and UDP headers made from its flow (link type RAW) and with its ICRC,
/// also if it came without. Sent packets are recorded when they are handed over, even if the kernel
/// then drops them.
///
/// Several processes may append to one file at once. A write that fails ends the capture, not the
/// traffic, with one message on stderr.
class CaptureEngine final : public ForwardingEngine {
 public:
  /// Errors as CaptureWriter::open(); then `inner` is destroyed.
  static Expected<std::unique_ptr<CaptureEngine>, EngineError> open(
      std::unique_ptr<PacketEngine> inner, const std::string& path);

  [[nodiscard]] EngineLane& lane(size_t index) override { return *lanes_[index]; }
  /// The packets must have ICRCs, whether the inner engine wants them or not.
  [[nodiscard]] EnginePromises promises() const override;

 private:
  CaptureEngine(std::unique_ptr<PacketEngine> inner, CaptureWriter writer);

  CaptureWriter writer_;
  std::vector<std::unique_ptr<CapturedLane>> lanes_;
};

}  // namespace urxe
