// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "packet/engine/forwarding_engine.h"

namespace urxe {

/// Wraps an engine and appends every packet that it receives or sends to a pcapng file, one record
/// per packet, with IP and UDP headers made from its flow (link type RAW) and with its ICRC, also
/// if it came without. Sent packets are recorded when they are handed over, even if the kernel then
/// drops them.
///
/// Several processes may append to one file at once: every batch is one write() to a file opened
/// for appending. A write that fails ends the capture, not the traffic, with one message on stderr.
class CaptureEngine final : public ForwardingEngine {
 public:
  /// Creates the file `path`, or appends to it if it is a capture that another CaptureEngine began.
  /// Fails if it is anything else or belongs to another user, and destroys `inner`. A capture holds
  /// payload: its file has mode 0600 when it begins. One that goes on keeps the mode that its owner
  /// has given it since.
  static Expected<std::unique_ptr<CaptureEngine>, EngineError> open(
      std::unique_ptr<PacketEngine> inner, const std::string& path);

  ~CaptureEngine() override;
  CaptureEngine(const CaptureEngine&) = delete;
  CaptureEngine& operator=(const CaptureEngine&) = delete;

  std::span<const RxPacket> receive() override;
  void transmit(TxBatch& batch) override;
  /// The packets must have ICRCs, whether the inner engine wants them or not.
  [[nodiscard]] TxBatch::Limits batch_limits() const override;

 private:
  CaptureEngine(std::unique_ptr<PacketEngine> inner, std::string path, int fd);
  template <class AddRecords>
  void record(AddRecords add_records);
  void add_received(const RxPacket& packet, uint64_t time_ns);
  void add_sent(const TxBatch& batch, const TxBatch::Message& message, uint64_t time_ns);
  void write_records();
  void stop(const char* why);

  std::string path_;
  int fd_;                        ///< -1: capturing has stopped
  std::vector<uint8_t> records_;  ///< of the batch at hand
  std::vector<uint8_t> sealed_;   ///< a packet that came without an ICRC
};

}  // namespace urxe
