// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/receive_order.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "packet/wire/opcode.h"

namespace urxe::test::receive_order_test {
namespace {

constexpr uint8_t kQp = 5;

constexpr size_t kAckBytes = 16;

/// A batch of packets, which have a BTH and room for an AETH, and nothing else.
class Batch {
 public:
  Batch& add(Operation operation, uint8_t qp = kQp, uint16_t source_port = 0xc001,
             size_t size = kAckBytes) {
    std::vector<uint8_t>& bytes = bytes_.emplace_back(size);
    if (size > 0) bytes[0] = Opcode(Service::kRc, operation).value;
    if (size > 7) bytes[7] = qp;
    RxPacket& packet = packets_.emplace_back();
    packet.bytes = bytes;
    packet.flow.source_port = source_port;
    return *this;
  }
  /// Of the last packet.
  Batch& syndrome(uint8_t value) {
    bytes_.back()[12] = value;
    return *this;
  }
  Batch& mig_req() {
    bytes_.back()[1] |= 0x40;
    return *this;
  }
  [[nodiscard]] bool ack_goes_first(size_t i = 0) const {
    return urxe::ack_goes_first(packets_, i);
  }

 private:
  std::deque<std::vector<uint8_t>> bytes_;
  std::vector<RxPacket> packets_;
};

TEST(ReceiveOrder, AnAckBehindWhatCompletesAReceiveGoesFirst) {
  using enum Operation;
  for (const Operation reply : {kSendLast, kSendLastImm, kSendLastInvalidate, kSendOnly,
                                kSendOnlyImm, kSendOnlyInvalidate, kWriteLastImm, kWriteOnlyImm}) {
    EXPECT_TRUE(Batch().add(reply).add(kAcknowledge).ack_goes_first()) << static_cast<int>(reply);
  }
}

TEST(ReceiveOrder, OtherPacketsStayInOrder) {
  using enum Operation;
  for (const Operation first :
       {kSendFirst, kSendMiddle, kWriteOnly, kWriteLast, kReadRequest, kReadResponseOnly,
        kReadResponseLast, kAcknowledge, kAtomicAcknowledge, kFetchAdd}) {
    EXPECT_FALSE(Batch().add(first).add(kAcknowledge).ack_goes_first()) << static_cast<int>(first);
  }
  for (const Operation next : {kSendOnly, kReadResponseOnly, kAtomicAcknowledge}) {
    EXPECT_FALSE(Batch().add(kSendOnly).add(next).ack_goes_first()) << static_cast<int>(next);
  }
}

// The defect: a NAK ended the queue pair, and the message before it was flushed though it had come.
TEST(ReceiveOrder, ANakStaysInOrder) {
  using enum Operation;
  EXPECT_TRUE(Batch().add(kSendOnly).add(kAcknowledge).syndrome(0x1f).ack_goes_first());
  constexpr uint8_t kOthers[] = {0x20, 0x3f, 0x40, 0x60, 0x61, 0x62, 0x63, 0x64, 0x80, 0xff};
  for (const uint8_t syndrome : kOthers) {
    EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge).syndrome(syndrome).ack_goes_first())
        << int{syndrome};
  }
}

// The defect: the ACK armed path migration, and the message before it then asked for one.
TEST(ReceiveOrder, APacketOfAnotherPathStateStaysInOrder) {
  using enum Operation;
  EXPECT_FALSE(Batch().add(kSendOnly).mig_req().add(kAcknowledge).ack_goes_first());
  EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge).mig_req().ack_goes_first());
  EXPECT_TRUE(Batch().add(kSendOnly).mig_req().add(kAcknowledge).mig_req().ack_goes_first());
}

TEST(ReceiveOrder, AnAckOfAnotherConnectionStaysInOrder) {
  using enum Operation;
  EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge, kQp + 1).ack_goes_first());
  EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge, kQp, 0xc002).ack_goes_first());
}

TEST(ReceiveOrder, ShortPacketsAndTheLastOne) {
  using enum Operation;
  EXPECT_FALSE(Batch().add(kSendOnly).ack_goes_first());
  EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge).ack_goes_first(1));
  EXPECT_TRUE(Batch().add(kSendOnly).add(kAcknowledge, kQp, 0xc001, 20).ack_goes_first());
  EXPECT_FALSE(Batch().add(kSendOnly).add(kAcknowledge, kQp, 0xc001, 21).ack_goes_first());
  for (const size_t size : {0, 1, 11, 15}) {
    if (size < 12) {
      EXPECT_FALSE(Batch().add(kSendOnly, kQp, 1, size).add(kAcknowledge, kQp, 1).ack_goes_first());
    }
    EXPECT_FALSE(Batch().add(kSendOnly, kQp, 1).add(kAcknowledge, kQp, 1, size).ack_goes_first());
  }
}

}  // namespace
}  // namespace urxe::test::receive_order_test
