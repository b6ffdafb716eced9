// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/network.h"
#include "tests/support/random.h"

namespace urxe::test {

/// The other end of an RC connection, as another implementation may be within the specification:
/// written from it, without a line of the transport. Drawn for each peer:
/// - it acknowledges each packet, or only those that ask for it, or one of many, late and for all
///   before it; a READ response or an ACK of a later request stands for earlier ones;
/// - it names a gap each time that a packet comes behind it, or once;
/// - it answers a repeated READ from the middle as one of its own;
/// - as a requester it asks for an ACK rarely, goes back further than it must, and asks for the
///   rest of a READ in several pieces.
class ForeignPeer {
 public:
  struct Setup {
    Flow flow;  ///< to the device
    Qpn device_qpn;
    uint32_t mtu = 1024;
    uint32_t sq_psn = 0;  ///< this end's
    uint32_t rq_psn = 0;
  };
  ForeignPeer(const Setup& setup, Random random);

  void receive(const PacketView& packet, Instant now);
  /// Runs what is due and sends; then `outgoing` has it.
  void drive(Instant now);
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  std::vector<sim::Packet> outgoing;

  // Requests to the device, one after the other.
  void write(uint64_t va, RKey rkey, std::vector<uint8_t> data);
  void read(uint64_t va, RKey rkey, uint32_t length);
  void send(std::vector<uint8_t> data);
  [[nodiscard]] bool idle() const { return requests_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }

  static constexpr uint64_t kVa = 0x40000;
  static constexpr RKey kKey{0x1234};
  std::vector<uint8_t> memory;                 ///< that the device writes and reads
  std::vector<std::vector<uint8_t>> messages;  ///< that the device has sent
  std::vector<std::vector<uint8_t>> results;   ///< of READs

 private:
  enum class Acks : uint8_t { kEach, kAsked, kFew };
  enum class Gaps : uint8_t { kEach, kOnce };
  /// A message to the device: packets of `mtu` bytes from `psn` on.
  struct Request {
    std::array<Operation, 4> operations{};  ///< first, middle, last, only
    uint64_t va = 0;
    RKey rkey;
    std::vector<uint8_t> data;
    uint32_t length = 0;  ///< of a READ
    bool is_read = false;
    Psn psn;
    uint32_t packets = 1;
  };

  // Responder.
  void receive_request(const PacketView& packet, Instant now);
  void execute(const PacketView& packet, Instant now);
  void answer_read(const Headers& headers);
  void acknowledge(uint8_t syndrome, Psn psn);
  // Requester.
  void receive_answer(const PacketView& packet, Instant now);
  void take_read_response(const PacketView& packet, Instant now);
  void complete_up_to(Psn psn, Instant now);
  void go_back(Instant now);
  void transmit(Instant now);
  void transmit_packet(const Request& request, uint32_t index);
  void transmit_read(Request& request);
  void add(Request request);
  void emit(const Headers& headers, std::span<const uint8_t> payload);

  Setup setup_;
  Random random_;
  TxBatch batch_{TxBatch::Limits{}};
  Acks acks_;
  Gaps gaps_;

  Psn expected_;
  uint32_t completed_ = 0;  ///< messages, for the MSN
  bool gap_named_ = false;
  std::optional<Instant> ack_due_;
  uint32_t unacknowledged_ = 0;
  uint64_t write_at_ = 0;
  std::vector<uint8_t> message_;

  std::deque<Request> requests_;
  Psn next_psn_;
  Psn sent_to_;        ///< the next packet to send
  Psn oldest_;         ///< not acknowledged
  uint32_t read_ = 0;  ///< bytes of the READ that is first
  uint32_t read_asked_ = 0;
  std::vector<uint8_t> result_;
  std::optional<Instant> retry_at_;
  bool failed_ = false;
};

}  // namespace urxe::test
